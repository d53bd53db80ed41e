"""`docs/how-to/kuberay.yaml` has the fields that KubeRay takes; no cluster has tried it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # which comes with MkDocs
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # which comes with Ray

from reglue_bench.cli.bench import main as bench
from tests.repository.pages import ROOT

SCHEMA = yaml.safe_load(Path(__file__).with_name("kuberay-schema.yaml").read_text(encoding="utf-8"))
CLAIM, JOB = yaml.safe_load_all((ROOT / "docs/how-to/kuberay.yaml").read_text(encoding="utf-8"))


def faults(job: Any) -> list[str]:
    return [error.json_path for error in Draft202012Validator(SCHEMA).iter_errors(job)]


def test_it_is_a_ray_job() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert faults(JOB) == []


@pytest.mark.parametrize(
    ("before", "after", "where"),
    [
        ('num-cpus: "0"', "num-cpus: 0", "$.spec.rayClusterSpec.headGroupSpec.rayStartParams"),
        ("maxReplicas:", "# maxReplicas:", "$.spec.rayClusterSpec.workerGroupSpecs[0]"),
        ("rayClusterSpec:", "rayCluster:", "$.spec"),
        ("ray.io/v1", "ray.io/v1alpha1", "$.apiVersion"),
    ],
)
def test_what_kuberay_would_refuse_is_found(before: str, after: str, where: str) -> None:
    text = (ROOT / "docs/how-to/kuberay.yaml").read_text(encoding="utf-8")
    _, job = yaml.safe_load_all(text.replace(before, after))
    assert any(fault.startswith(where) for fault in faults(job))


def test_all_pods_have_the_ray_that_is_tested() -> None:
    cluster = JOB["spec"]["rayClusterSpec"]
    (tested,) = re.findall(
        r"^ray==(.*)$", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert cluster["rayVersion"] == tested
    page = (ROOT / "docs/how-to/cluster.md").read_text(encoding="utf-8")
    assert f"FROM rayproject/ray:{tested}-" in page
    groups = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]
    pods = [each["template"]["spec"]["containers"][0] for each in groups]
    assert len({pod["image"] for pod in pods}) == 1
    assert f"docker build -t {pods[0]['image'].partition(':')[0]}" in page


def test_the_head_keeps_runs_in_the_claim() -> None:
    head = JOB["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]
    (volume,) = head["volumes"]
    (mount,) = head["containers"][0]["volumeMounts"]
    assert CLAIM["kind"] == "PersistentVolumeClaim"
    assert volume["persistentVolumeClaim"]["claimName"] == CLAIM["metadata"]["name"]
    assert mount["name"] == volume["name"]
    assert f"--out {mount['mountPath']}/" in JOB["spec"]["entrypoint"]


def test_the_number_of_workers_is_fixed() -> None:
    """A run counts the cores when it begins."""
    (group,) = JOB["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    assert group["replicas"] == group["minReplicas"] == group["maxReplicas"]


def test_its_command_has_flags_that_exist() -> None:
    program, command, *words = shlex.split(JOB["spec"]["entrypoint"])
    assert (program, command) == ("reglue", "bench")
    flags = {flag for parameter in bench.click.params for flag in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= flags
    assert words[words.index("--engine") + 1] == "ray"
