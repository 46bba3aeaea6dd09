"""What notebooks show: tables whose names are escaped."""

import weft


def test_names_are_escaped_and_figures_are_there():
    model = weft.Model("mt-ogd")
    for i in range(30):
        model.learn_one({"<b>": 1.0, "x": float(i % 3)}, 1 if i % 2 else -1, task=f"<script>{i % 25}")
    for shown in (model, model.tally, model.explain({"<b>": 1.0}, "<script>1")):
        text = shown._repr_html_()
        assert "<script>" not in text
        assert "&lt;script&gt;" in text
        assert text.count("<table>") == text.count("</table>") >= 1
    assert "and 5 more" in model.tally._repr_html_()
    parts = model.explain({"x": 1.0}, "<script>1")
    assert f"{parts.parts['own']:+.4g}" in parts._repr_html_()


def test_an_empty_model():
    assert "0 events" in weft.Model()._repr_html_()
