"""Own, shared and pooled models, stacked, with a do-no-harm layer per task: the default, and its core.

| module | section of the rule |
|---|---|
| `learners` | the two learners, and the whole rule in equations |
| `events` | the steps of an event, in order, and the loops over events |
| `row_scaling`, `row_statistics` | rows on a scale of their own; what is known of the rows so far |
| `label_scaling` | the same of labels, in regression |
| `experts` | AdaGrad and coin betting: the arithmetic of one weight |
| `parts`, `scoring`, `updating` | that arithmetic over rows of own and shared parts |
| `second_order` | the second-order expert of an option, and the seats of dense columns |
| `further_experts` | the experts of `effort`: `forget`, `bayes`, `low_rank`, `level`, `second`, `grid`, `fading` |
| `coordinates`, `draws` | AdaGrad over two columns of wide rows; start numbers without a generator |
| `missing` | values that are explicitly missing |
| `stacking` | the stack of experts, and the prediction |
| `do_no_harm` | the mixture of stack, own and pooled model, with its bounds |
| `explaining` | the stack's weights of features, for explanations |
| `state`, `scratch` | the arrays of the state and of one event, and the names of all positions in them |
| `plan` | the axes of the state's arrays, what a file must satisfy, and the blank state |
| `prefetch` | what the next event needs is loaded into the cache |
"""
