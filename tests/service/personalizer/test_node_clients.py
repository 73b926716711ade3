"""Conformance with Microsoft's own clients in JavaScript: every operation that each of them has.

    @azure/cognitiveservices-personalizer    v1.0
    @azure-rest/ai-personalizer              v1.1-preview.3

They are installed by npm into a folder of the test's own, which takes a network: `make soak` and `make conformance`.
Where that cannot be, the first says so and goes on; the second fails.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.service.personalizer.speaking import Shop

HERE = Path(__file__).parent / "node"
OPERATIONS = {
    "v1.0": {"rank", "events.activate", "events.reward", "refusal"},
    "v1.1": {
        "post /rank",
        "post /events/{eventId}/activate",
        "post /events/{eventId}/reward",
        "post /multislot/rank",
        "post /multislot/events/{eventId}/reward",
        "post /multislot/events/{eventId}/activate",
        "get /configurations/service",
        "put /configurations/service",
        "get /configurations/policy",
        "put /configurations/policy",
        "delete /configurations/policy",
        "post /configurations/applyFromEvaluation",
        "get /evaluations",
        "post /evaluations",
        "get /evaluations/{evaluationId}",
        "delete /evaluations/{evaluationId}",
        "get /model",
        "put /model",
        "delete /model",
        "get /model/properties",
        "post /logs/interactions",
        "post /logs/observations",
        "get /logs/properties",
        "delete /logs",
    },
}


NPM, NODE = shutil.which("npm"), shutil.which("node")
NOT_TRIED = "Microsoft's clients in JavaScript were not tried"


@pytest.mark.soak
@pytest.mark.skipif(not (NPM and NODE), reason=f"install Node.js, with npm, so that both are on the PATH: {NOT_TRIED}")
def test_every_operation(there: Shop, tmp_path: Path) -> None:
    npm, node = str(NPM), str(NODE)
    for file in ("package.json", "speak.js"):
        shutil.copy(HERE / file, tmp_path)
    install = [npm, "install", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"]
    installed = subprocess.run(install, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    if installed.returncode:
        why = "npm could not install what node/package.json names, which takes a network or npm's cache"
        pytest.skip(f"{why}: {NOT_TRIED}: {installed.stderr[-500:]}")
    spoken = subprocess.run(
        [node, "speak.js", there.url, there.key], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert spoken.returncode == 0, spoken.stdout + spoken.stderr
    done = {tuple(line.split(" ", 1)) for line in spoken.stdout.splitlines()}
    assert done == {(version, one) for version, some in OPERATIONS.items() for one in some}
