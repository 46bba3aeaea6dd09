"""Which tests belong to which file.

A family is a folder of learners or of what they share. Its tests are lists for pytest, run one after the other until
one fails: first what belongs to the changed file, then what belongs to the family, quick ones first. Together the lists
of a family take about a minute in plain mode. `--settings` restricts contracts to learners, or to folders of them.
"""

from dataclasses import dataclass, field
from fnmatch import fnmatch


@dataclass(frozen=True)
class Family:
    """Files, what to test them with, and how large a share of a sample it has."""

    name: str
    sources: tuple[str, ...]
    tests: tuple[str, ...]
    first: dict[str, tuple[str, ...]] = field(default_factory=dict)
    share: int = 1

    def tests_of(self, file: str, thorough: bool = False) -> tuple[str, ...]:
        """The lists for one file of the family; `thorough`: all tests of all files in them."""
        own = [test for pattern, tests in self.first.items() if fnmatch(file, pattern) for test in tests]
        lists = dict.fromkeys([*own, *self.tests])
        return tuple(dict.fromkeys(test.split(" -k ")[0] for test in lists)) if thorough else tuple(lists)


PASSED_OVER = ("*/__init__.py", "*/prefetch.py", "*/compiled/*")
"""Prefetching has no effect on results, and `compiled/` is not what runs in plain mode."""


def contracts(settings: str) -> tuple[str, ...]:
    """The quickest contracts of some learners."""
    which = {
        "chunking": "(one_event or mixed or random_cuts or hashed_pairs) and not sparse",
        "tasks": "(new_task or without_loss or scored_before or tally) and not shared and not sparse",
        "purity": "predict_one or unknown_task or copy or trace",
        "saving": "mid_stream and rounds or arrays_that_do_not_fit or slots_out",
        "bad_input": "a_value_in_a_dict",
        "forgetting": "nothing_of_the_task or scored_as_before",
    }
    return tuple(f"tests/contracts/test_{file}.py --settings {settings} -k '{k}'" for file, k in which.items())


def doctests(folder: str) -> str:
    """The figures in docstrings; one is printed in another way by plain mode."""
    return f"--doctest-modules src/weft/{folder} --deselect=src/weft/learners/low_rank/personal.py"


def learners(name: str, *tests: str, first: dict[str, tuple[str, ...]] | None = None, share: int = 1) -> Family:
    """A family of learners: its own tests, its docstrings, its contracts."""
    path = f"src/weft/learners/{name}"
    every = (*tests, doctests(f"learners/{name}"), *contracts(name))
    return Family(
        name, (f"{path}/*.py",), every, {f"{path}/{file}.py": own for file, own in (first or {}).items()}, share
    )


_LEARNERS, _LAWS, _MATHS, _GUARANTEES = (
    "tests/learners/test_",
    "tests/laws/test_",
    "tests/maths/test_",
    "tests/guarantees/test_",
)
_BUDGET = f"{_LEARNERS}budget.py -k 'name_alone or several or not_declared or matrix or one_task or oldest or longer'"
_COLUMNS = f"{_LEARNERS}column_blocks.py -k '(mtrbp or mtbprj-2) and 37 or mtforg and 16 or one_by_one'"
_SHARES = "tests/inspection/test_explanation.py -k '(shares or add_up) and (foml or omtrl or romco or coml or cw-col)'"
_EXPLAINED = "tests/inspection/test_explanation.py -k 'mt-ogd or mt-pnorm or mt-eg or mt-ftrl'"

FAMILIES = (
    learners(
        "single_task",
        f"{_LEARNERS}own.py",
        f"{_LEARNERS}arow.py",
        f"{_LAWS}shared_loss_laws.py -k 'single_task or pa_i or aggressive'",
    ),
    learners(
        "shared_loss",
        f"{_LEARNERS}shared_loss.py",
        f"{_LEARNERS}implicit_argmin.py",
        f"{_LAWS}shared_loss_laws.py",
    ),
    learners(
        "descent",
        f"{_LEARNERS}mirror_descent.py",
        f"{_LEARNERS}mirror_maps.py",
        f"{_LEARNERS}hedge.py",
        f"{_LEARNERS}descent_growth.py",
        f"{_LEARNERS}distances.py",
        f"{_LEARNERS}descent_refusals.py",
        f"{_LEARNERS}projections.py",
        f"{_LEARNERS}tuning.py",
        f"{_LAWS}mirror_descent_laws.py",
        f"{_LEARNERS}descent_lazy.py",
        first={
            "ball_shift": (f"{_LEARNERS}projections.py",),
            "cliques_ball": (f"{_LEARNERS}descent_growth.py", f"{_LEARNERS}descent_lazy.py -k mahalanobis"),
            "distances": (f"{_LEARNERS}distances.py",),
            "dual_growth": (f"{_LEARNERS}descent_growth.py",),
            "forgetting": (f"{_LEARNERS}descent_forgetting.py",),
            "forms": (_EXPLAINED,),
            "hedge*": (f"{_LEARNERS}hedge.py",),
            "leader": (f"{_LEARNERS}mirror_maps.py",),
            "links": (f"{_LEARNERS}projections.py", f"{_LEARNERS}mirror_maps.py"),
            "mirror*": (f"{_LEARNERS}mirror_maps.py",),
            "parameters": (f"{_LEARNERS}descent_refusals.py",),
            "projections": (f"{_LEARNERS}projections.py",),
            "shares": (_EXPLAINED,),
            "tuning": (f"{_LEARNERS}tuning.py",),
        },
        share=2,
    ),
    learners(
        "budget",
        _BUDGET,
        f"{_LEARNERS}budget_refusals.py",
        f"{_LEARNERS}budget_usage.py",
        f"{_LEARNERS}inverse.py",
        f"{_LEARNERS}symmetric.py",
        _COLUMNS,
        f"{_LEARNERS}budget.py -k 'scores_and_active_sets or every_step'",
        f"{_LAWS}budget_laws.py",
        first={
            "active_set": (f"{_LEARNERS}budget_usage.py",),
            "column*": (_COLUMNS,),
            "forgetting": ("tests/contracts/test_forgetting.py --settings budget -k nothing_of_the_task",),
            "kernel_columns": (f"{_LEARNERS}budget_usage.py",),
            "task_weights": (f"{_LEARNERS}budget_usage.py",),
            "inverse": (f"{_LEARNERS}inverse.py",),
            "parameters": (f"{_LEARNERS}budget_refusals.py", f"{_LEARNERS}budget_usage.py"),
            "symmetric": (f"{_LEARNERS}symmetric.py", f"{_LEARNERS}inverse.py"),
            "usage": (f"{_LEARNERS}budget_usage.py",),
        },
        share=2,
    ),
    learners("smoothed", f"{_LEARNERS}smoothed.py", f"{_LAWS}smoothed_laws.py", f"{_LEARNERS}smoothed_settling.py"),
    learners("relations", f"{_LEARNERS}relationship.py", _SHARES),
    learners(
        "low_rank",
        f"{_LEARNERS}romco.py -k equals_the_oracle",
        f"{_LEARNERS}romco.py -k 'not equals_the_oracle and not thousand and not chunking'",
        f"{_LEARNERS}personal.py",
        f"{_LEARNERS}vector_rows.py",
        f"{_LEARNERS}compiled_steps.py",
        f"{_LEARNERS}lapack_steps.py",
        f"{_LAWS}robust_laws.py -k 'not coml and not cw'",
        first={
            "romco": (_SHARES,),
            "rounds": (f"{_LAWS}robust_laws.py -k 'not coml and not cw'",),
            "lapack_steps": (f"{_LEARNERS}lapack_steps.py",),
            "pieces": (f"{_LEARNERS}lapack_steps.py", f"{_LEARNERS}compiled_steps.py"),
            "personal": (f"{_LEARNERS}personal.py",),
            "compiled_steps": (f"{_LEARNERS}compiled_steps.py",),
            "eigen": (f"{_LEARNERS}compiled_steps.py",),
            "vector_rows": (f"{_LEARNERS}vector_rows.py", f"{_LEARNERS}compiled_steps.py"),
        },
    ),
    learners(
        "collaborative",
        _SHARES,
        f"{_LEARNERS}collaborative.py",
        f"{_LAWS}robust_laws.py -k 'coml or cw_col or one_task_one'",
    ),
    learners(
        "refit",
        f"{_LEARNERS}batch.py",
        f"{_LEARNERS}batch_refusals.py",
        f"{_LEARNERS}svm.py",
        f"{_LEARNERS}low_rank_fits.py",
        f"{_LAWS}batch_laws.py",
        first={"low_rank*": (f"{_LEARNERS}low_rank_fits.py",), "svm": (f"{_LEARNERS}svm.py",)},
    ),
    learners(
        "adaptive",
        f"{_LEARNERS}adaptive_options.py -k toy",
        f"{_LEARNERS}effort.py -k toy",
        f"{_LEARNERS}missing.py -k seats",
        f"{_LEARNERS}adaptive.py",
        f"{_LEARNERS}adaptive_options.py -k part",
        f"{_LEARNERS}adaptive_cases.py -k 'trace and toy or hashed and (half or part or holes or smallest or inside)'",
        f"{_LEARNERS}missing.py",
        f"{_LEARNERS}effort.py -k 'correlated or very or (columns and logistic)'",
        f"{_LEARNERS}effort_extremes.py -k 'weight or (grid or second or low_rank or bayes) and come_and_go'",
        f"{_LAWS}default_laws.py",
        share=2,
    ),
    Family(
        "maths",
        ("src/weft/maths/*.py",),
        (
            "tests/maths",
            doctests("maths"),
            "tests/test_catalogue.py",
            f"{_LEARNERS}own.py",
            f"{_LEARNERS}shared_loss.py",
            _BUDGET,
            f"{_LEARNERS}romco.py -k equals_the_oracle",
            f"{_LEARNERS}collaborative.py",
        ),
        {
            "*/generator.py": (f"{_MATHS}generator.py",),
            "*/implicit.py": (f"{_MATHS}steps.py",),
            "*/kernels.py": (f"{_GUARANTEES}task_kernel.py", "tests/contracts/test_bad_input.py -k kernels"),
            "*/losses.py": (f"{_MATHS}losses.py",),
            "*/norms.py": (f"{_MATHS}norms.py",),
            "*/proximal.py": (f"{_MATHS}proximal.py",),
            "*/r_max.py": (f"{_MATHS}steps.py",),
            "*/steps.py": (f"{_MATHS}steps.py",),
        },
    ),
    Family(
        "graphs",
        ("src/weft/graphs/*.py", "src/weft/learners/task_matrix.py"),
        (
            "tests/graphs",
            doctests("graphs"),
            f"{_GUARANTEES}task_kernel.py",
            "tests/cli/test_graphs.py",
            f"{_LEARNERS}mirror_descent.py",
            f"{_LEARNERS}relationship.py",
            _BUDGET,
        ),
        {
            "*/interaction.py": ("tests/graphs/test_interaction.py",),
            "*/reading.py": ("tests/graphs/test_reading.py",),
            "*/definite.py": ("tests/graphs/test_interaction.py",),
            "*/components.py": ("tests/graphs/test_interaction.py",),
        },
    ),
    Family(
        "storage",
        (
            "src/weft/storage/*.py",
            "src/weft/learners/own_parts.py",
            "src/weft/tally/counts.py",
            "src/weft/tally/per_task.py",
            "src/weft/vocabulary.py",
        ),
        (
            "tests/storage",
            "tests/tally/test_counts.py",
            "tests/test_vocabulary.py",
            "tests/test_model.py",
            "tests/test_stream.py",
            f"{_LEARNERS}own.py",
            *contracts("pa,implicit,mt-perceptron,osmtl-e,mtrbp"),
            "tests/contracts/test_bad_input.py",
        ),
        {
            "*/batch.py": ("tests/storage/test_batch.py",),
            "*/rows.py": ("tests/storage/test_rows.py", "tests/contracts/test_bad_input.py"),
            "*/forgetting.py": ("tests/contracts/test_forgetting.py --settings mt-perceptron,mtrbp,pa",),
            "*/sa*.py": ("tests/storage/test_state.py",),
            "*/single.py": ("tests/storage/test_single.py",),
            "*/sparse_rows.py": ("tests/storage/test_sparse_rows.py",),
            "*/shards.py": ("tests/storage/test_shards.py",),
            "*/state.py": ("tests/storage/test_state.py",),
            "*/two_parts.py": (f"{_LEARNERS}mirror_descent.py",),
            "*/own_parts.py": (f"{_LEARNERS}own.py", "tests/test_model.py"),
            "*/tally/*.py": ("tests/tally/test_counts.py", "tests/tally/test_recent.py"),
            "*/vocabulary.py": ("tests/test_vocabulary.py",),
        },
        share=2,
    ),
    Family(
        "guarantees",
        ("src/weft/guarantees/*.py",),
        (
            f"{_GUARANTEES}task_kernel.py",
            f"{_GUARANTEES}bounds.py",
            f"{_GUARANTEES}budget_bounds.py",
            f"{_GUARANTEES}descent_record.py",
            f"{_GUARANTEES}hindsight.py",
            f"{_GUARANTEES}hedge_regret.py",
            f"{_GUARANTEES}regret.py",
            f"{_LAWS}smoothed_laws.py",
            f"{_LAWS}shared_loss_laws.py -k 'theorem or corollary'",
            f"{_LAWS}robust_laws.py -k 'theorem or record'",
            f"{_LAWS}budget_theorems.py",
        ),
        {
            "*/budget*": (f"{_GUARANTEES}budget_bounds.py", f"{_LAWS}budget_theorems.py"),
            "*/descent_record.py": (f"{_GUARANTEES}descent_record.py",),
            "*/descent*": (f"{_GUARANTEES}regret.py", f"{_GUARANTEES}hedge_regret.py"),
            "*/hindsight.py": (f"{_GUARANTEES}hindsight.py",),
            "*/low_rank.py": (f"{_LAWS}robust_laws.py -k 'theorem or record'",),
            "*/measures.py": (f"{_GUARANTEES}regret.py",),
            "*/shared_loss.py": (f"{_GUARANTEES}bounds.py", f"{_LAWS}shared_loss_laws.py -k 'theorem or corollary'"),
            "*/smoothed.py": (f"{_LAWS}smoothed_laws.py",),
        },
    ),
    Family(
        "inspection",
        ("src/weft/inspection/*.py",),
        (
            "tests/inspection",
            doctests("inspection"),
            "tests/cli/test_inspect.py",
            "tests/cli/test_inspect_support.py",
            "tests/cli/test_inspect_relations.py",
            "tests/contracts/test_purity.py --settings pa,mtbprj,mt-ogd,osmtl-e -k copy",
        ),
        {
            "*/explanation.py": ("tests/inspection/test_explanation.py",),
            "*/borrowing.py": ("tests/test_model.py -k borrowing",),
            "*/relations.py": ("tests/inspection/test_relations.py",),
            "*/support.py": ("tests/cli/test_inspect_support.py",),
        },
    ),
    Family(
        "encoding",
        ("src/weft/encoding/*.py",),
        (
            "tests/encoding",
            doctests("encoding"),
            "tests/test_schema.py",
            "tests/streams/test_records.py",
        ),
        {
            "*/careful.py": ("tests/encoding/test_careful.py",),
            "*/column_values.py": ("tests/encoding/test_frames.py",),
            "*/frames.py": ("tests/encoding/test_frames.py",),
            "*/interned.py": ("tests/streams/test_scan.py -k tables_grow",),
            "*/missing_values.py": ("tests/encoding/test_missing_values.py", "tests/encoding/test_missing_fields.py"),
        },
    ),
    Family(
        "policies",
        ("src/weft/policies/*.py",),
        (
            "tests/policies",
            doctests("policies"),
            "tests/cli/test_policy.py",
            "tests/contracts/test_forgetting.py --settings pa,auto",
        ),
        {"*/mixing.py": ("tests/policies/test_mixing.py",)},
    ),
)
