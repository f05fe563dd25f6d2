class Ids: ...  # token ids of an n-gram, for kernels
