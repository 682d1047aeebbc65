"""What operations on tensors give, by their names, and which of them have no place in ``fast.py``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from .values import ROWS, SETTING, STATIC, Value, floats, join

# Library functions of floats: their bits change with the batch size, the place in the batch, or the compiler.
FLOAT_LIBRARY = {
    *("sqrt", "rsqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh"),
    *("tanh", "asin", "acos", "atan", "atan2", "arcsin", "arccos", "arctan", "arctan2", "asinh", "acosh", "atanh"),
    *("sinc", "hypot", "sigmoid", "softmax", "log_softmax", "softplus", "softmin", "logsumexp", "logaddexp"),
    *("logaddexp2", "logcumsumexp", "erf", "erfc", "erfinv", "gelu", "silu", "mish", "lgamma", "digamma", "mean"),
    *("nanmean", "std", "var", "std_mean", "var_mean", "norm", "vector_norm", "matrix_norm", "normalize", "quantile"),
    *("float_power", "reciprocal", "cdist", "cosine_similarity", "lerp", "addcmul", "addcdiv", "linear", "det"),
    *("inv", "solve", "svd", "qr", "cholesky", "fft", "ifft", "rfft", "irfft", "conv1d", "conv2d", "conv3d"),
}
# The same, but exact where they are known to work on integers.
SUMS = {
    *("sum", "nansum", "cumsum", "prod", "nanprod", "cumprod", "trace", "trapz", "matmul", "mm", "bmm", "mv", "dot"),
    *("vdot", "inner", "einsum", "tensordot", "addmm", "addmv", "baddbmm", "addbmm", "scatter_add", "index_add"),
    *("scatter_reduce", "index_reduce", "scatter_add_", "index_add_", "scatter_reduce_", "index_reduce_", "bincount"),
}
# Without an axis they run over the rows as well.
REDUCTIONS = {
    *("sum", "nansum", "prod", "any", "all", "max", "min", "amax", "amin", "argmax", "argmin", "mean", "median"),
    *("count_nonzero", "std", "var", "norm", "logsumexp", "unique"),
}
DIVISIONS = {"remainder", "fmod", "floor_divide", "pow"}
VIEWS = {
    *("view", "reshape", "unsqueeze", "squeeze", "expand", "expand_as", "view_as", "reshape_as", "transpose"),
    *("permute", "flatten", "unflatten", "narrow", "select", "detach", "contiguous", "movedim", "moveaxis"),
    *("swapaxes", "t", "T", "mT", "diagonal", "as_strided", "broadcast_to", "ravel", "unfold", "alias", "data"),
    *("real", "to", "type", "float", "double", "int", "long", "bool", "half", "as_tensor", "broadcast_tensors"),
    *("values", "indices", "cpu", "cuda"),
}
PIECES = {"unbind", "split", "chunk", "tensor_split", "broadcast_tensors", "meshgrid", "hsplit", "vsplit"}
LEAVES = {"item", "tolist", "numpy", "__bool__", "__int__", "__float__", "__index__", "__array__"}
SIZES = {"dim", "ndimension", "element_size", "is_floating_point", "stride", "get_device", "is_contiguous", "data_ptr"}
TRUTHS = {
    *("any", "all", "eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "isfinite", "isin", "logical_and"),
    *("logical_or", "logical_xor", "logical_not", "argmax", "argmin", "argsort", "nonzero", "bucketize"),
    *("searchsorted", "count_nonzero", "one_hot", "signbit"),
}
CREATORS = {
    *("zeros", "ones", "full", "empty", "arange", "eye", "linspace", "zeros_like", "ones_like", "full_like"),
    *("empty_like", "new_zeros", "new_ones", "new_full", "new_empty"),
}
PAIRS = {"max", "min", "sort", "topk", "aminmax", "median", "mode", "kthvalue", "cummax", "cummin", "unique"}
FLOAT_NAMES = {"float", "double", "half", "bfloat16", "float16", "float32", "float64"}
INTEGER_NAMES = {"bool", "int", "long", "short", "char", "byte", "uint8", "int8", "int16", "int32", "int64"}

ORDER = (
    "of integers and bools pass dtype=torch.int32 or torch.int64; floats add one after another, over .unbind(-1) of an "
    "axis of fixed length"
)
SAFE = "use + - * and true division in a stated order, comparisons and casts, or a table of constants (index_select)"


def outside_the_float_rule(name: str, values: Sequence[Value], cast: bool | None) -> str:
    """The remedy where an operation on these values is outside the float rule (DESIGN, section 5); else "".

    ``cast`` is whether the ``dtype=`` argument is one of floats, None without one.
    """
    if name.rstrip("_") in FLOAT_LIBRARY:
        return SAFE
    if name in SUMS and cast is not False and floats(values) is not False:
        return ORDER
    if name in DIVISIONS and floats(values) is not False:
        return SAFE
    return ""


def dtype_of(text: str) -> bool | None:
    """Whether a dtype's name, as ``torch.float32`` or ``float``, is one of floats; None of another name."""
    name = text.rpartition(".")[2]
    return True if name in FLOAT_NAMES else False if name in INTEGER_NAMES else None


def result(
    name: str, base: Value, arguments: Sequence[Value], keywords: Mapping[str, Value], cast: bool | None
) -> Value:
    """What a method or function of torch gives; ``base`` is the tensor, or the first argument."""
    if name == "size":
        return ROWS if arguments else Value("shape")
    if name == "numel":
        return ROWS if base.nature == "tensor" else STATIC
    if name in SIZES:
        return STATIC
    if name == "where":
        return Value("tensor", floats(arguments[-2:])) if len(arguments) > 1 else base.own()
    if name in CREATORS:
        return Value("constant", cast if cast is not None else base.floats if name.endswith("_like") else None)
    given = (base, *arguments, *keywords.values())
    tensors = [value for value in given if value.is_tensor or value.nature == "container"]
    joined = join(part for value in tensors for part in (value.parts or (value,)))
    nature = "tensor" if joined.nature == "tensor" else "constant"
    kind = cast if cast is not None else _kind(name, joined)
    lent = name in VIEWS | PIECES and base.lent
    made = Value(nature, kind, lent)
    if name in PIECES:
        return Value("container", parts=(made,))
    if name in PAIRS and (name in ("sort", "topk") or (len(tensors) == 1 and (arguments or keywords))):
        return Value("container", parts=(made, replace(made, floats=False)), names=("values", "indices"))
    return made


def _kind(name: str, joined: Value) -> bool | None:
    if name in TRUTHS:
        return False
    if name in FLOAT_LIBRARY or name in ("div", "true_divide") or name in FLOAT_NAMES:
        return True
    return False if name in INTEGER_NAMES else joined.floats


def attribute(name: str, base: Value) -> Value:
    """What an attribute of a tensor gives."""
    if name == "shape":
        return Value("shape")
    if name in ("device", "is_cuda", "is_cpu", "is_mps"):
        return SETTING
    if name in VIEWS:
        return base
    return STATIC
