"""What each client says becomes an id and a fix; the words are the clients' own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.errors import ExitStatus, NodeError
from fabricdoc.transport.failures import Ending, why_ended
from fabricdoc.transport.nodes import NodeSpec
from fabricdoc.transport.refusals import CLIENTS, missing, refusal

pytestmark = pytest.mark.unit

NODES = {
    "box": NodeSpec("n", "h", image="engine:1"),
    "slurm": NodeSpec("n", "slurm:node01"),
    "mpirun": NodeSpec("n", "mpirun:node01"),
    "k8s": NodeSpec("n", "k8s:ml/vllm-0:main"),
    "docker": NodeSpec("n", "docker:vllm"),
    "podman": NodeSpec("n", "podman:vllm"),
}

# recorded from 4.1.4 and 5.0.11
OPEN_MPI_4 = """orterun was unable to launch the specified application as it could not access
or execute an executable:

Executable: /no/python3
Node: n1

while attempting to start process rank 0.
"""
OPEN_MPI_5 = """prterun was unable to launch the specified application as it could not
access an executable:

   Executable: /no/python3
   Node: vm

while attempting to start process rank 0.
"""


def ended(kind: str, stderr: str, status: int = 1, *, started: bool = False) -> NodeError:
    return why_ended(NODES[kind], Ending(kind, "scan", status, started, stderr))


@pytest.mark.parametrize(
    ("kind", "stderr", "id_"),
    [
        ("slurm", "srun: error: Unable to create step for job 7: Requested nodes are busy", "slurm-busy"),
        (
            "slurm",
            "srun: error: Unable to create step for job 7: Job/step already completing or completed",
            "slurm-job",
        ),
        ("slurm", "srun: error: Unable to confirm allocation for job 7: Invalid job id specified", "slurm-job"),
        ("slurm", "srun: error: Unable to create step for job 7: Invalid node name specified", "slurm-node"),
        (
            "slurm",
            "srun: error: Unable to allocate resources: Required node not available (down, drained or reserved)",
            "slurm-node",
        ),
        (
            "slurm",
            "srun: error: Unable to create step for job 7: Requested node configuration is not available",
            "slurm-node",
        ),
        (
            "slurm",
            "srun: error: Unable to allocate resources: Unable to contact slurm controller (connect failure)",
            "slurm-unreachable",
        ),
        ("slurm", "srun: unrecognized option '--overlap'", "slurm-refused"),
        ("slurm", "srun: error: Unable to create step for job 7: Access/permission denied", "slurm-refused"),
        (
            "slurm",
            "slurmstepd: error: execve(): python3: No such file or directory\n"
            "srun: error: node01: task 0: Exited with exit code 2",
            "python-missing",
        ),
        ("mpirun", OPEN_MPI_4, "python-missing"),
        ("mpirun", OPEN_MPI_5, "python-missing"),
        (
            "mpirun",
            "[proxy:0@n1] HYDU_create_process (launch.c): execvp error on file /no/python3 (No such file or directory)",
            "python-missing",
        ),
        (
            "mpirun",
            "[proxy:0:0@n1] HYD_spawn (hydra_spawn.c): execvp error on file /no/python3 (No such file or directory)",
            "python-missing",
        ),
        ("mpirun", "prterun has detected an attempt to run as root.", "mpirun-root"),
        ("mpirun", "orterun has detected an attempt to run as root.", "mpirun-root"),
        ("mpirun", "There are no allocated resources for the application:", "mpirun-node"),
        ("mpirun", "There are not enough slots available in the system to satisfy the 1", "mpirun-node"),
        ("mpirun", "A daemon failed to report back after being spawned. This could", "mpirun-unreachable"),
        ("mpirun", "ORTE was unable to reliably start one or more daemons.", "mpirun-unreachable"),
        ("mpirun", "[mpiexec@vm] ui_cmd_cb (pmiserv_pmci.c:51): Launch proxy failed.", "mpirun-unreachable"),
        (
            "mpirun",
            "[mpiexec@vm] Error: Unable to run bstrap_proxy on n1 (pid 19908, exit code 65280)",
            "mpirun-unreachable",
        ),
        ("mpirun", "[mpiexec@vm] match_arg (args.c:166): unrecognized argument wdir", "mpirun-refused"),
        ("mpirun", "bash: line 1: mpirun: command not found", "mpirun-missing"),
        ("k8s", 'Error from server (NotFound): pods "vllm-0" not found', "pod-missing"),
        ("k8s", 'Error from server (NotFound): namespaces "ml" not found', "pod-missing"),
        ("k8s", "Error from server (BadRequest): container main is not valid for pod vllm-0", "container-missing"),
        ("k8s", 'error: unable to upgrade connection: container not found ("main")', "container-missing"),
        ("k8s", "error: cannot exec into a container in a completed pod; current phase is Failed", "pod-not-running"),
        ("k8s", "Error from server (BadRequest): pod vllm-0 does not have a host assigned", "pod-not-running"),
        ("k8s", "error: timed out waiting for the condition", "pod-not-running"),
        (
            "k8s",
            "The connection to the server localhost:8080 was refused - did you specify the right host or port?",
            "k8s-context",
        ),
        ("k8s", "error: current-context is not set", "k8s-context"),
        ("k8s", 'error: context "x" does not exist', "k8s-context"),
        (
            "slurm",
            "srun: error: Task launch for StepId=7.0 failed on node n1: Communication connection failure",
            "slurm-node",
        ),
        ("slurm", "srun: error: Node failure on node01", "slurm-node"),
        ("slurm", "srun: error: Unable to create step for job 7: Job can not start immediately", "slurm-busy"),
        ("k8s", "Error in configuration: context was not found for specified context: x", "k8s-context"),
        ("k8s", "error: stat /nonexistent: no such file or directory", "k8s-context"),
        ("k8s", "Please enter Username: error: EOF", "k8s-forbidden"),
        (
            "k8s",
            "Unable to connect to the server: getting credentials: exec: executable aws not found",
            "k8s-forbidden",
        ),
        (
            "k8s",
            "Unable to connect to the server: getting credentials: exec: fork/exec /x: no such file or directory",
            "k8s-forbidden",
        ),
        ("k8s", "error: unable to upgrade connection: pod does not exist", "pod-missing"),
        (
            "k8s",
            "Error from server: error dialing backend: dial tcp 10.0.0.5:10250: connect: connection refused",
            "k8s-unreachable",
        ),
        ("k8s", "error: no configuration has been provided, try setting KUBERNETES_MASTER", "k8s-context"),
        (
            "k8s",
            'Error from server (Forbidden): pods "vllm-0" is forbidden: User "me" cannot create resource "pods/exec"',
            "k8s-forbidden",
        ),
        ("k8s", "error: You must be logged in to the server (Unauthorized)", "k8s-forbidden"),
        ("k8s", "Unable to connect to the server: dial tcp 10.0.0.1:6443: i/o timeout", "k8s-unreachable"),
        (
            "k8s",
            "The connection to the server 10.0.0.1:6443 was refused - did you specify the right host or port?",
            "k8s-unreachable",
        ),
        (
            "k8s",
            "error: Internal error occurred: error executing command in container: failed to exec in container: "
            'OCI runtime exec failed: exec: "python3": executable file not found in $PATH: unknown',
            "python-missing",
        ),
        ("docker", "Error response from daemon: No such container: vllm", "container-missing"),
        ("docker", "Error response from daemon: container 0a1b is not running", "container-not-running"),
        ("docker", "Error response from daemon: Container 0a1b is paused, unpause it first", "container-not-running"),
        (
            "docker",
            "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
            "runtime-unreachable",
        ),
        (
            "docker",
            "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock",
            "runtime-forbidden",
        ),
        (
            "docker",
            'OCI runtime exec failed: exec failed: unable to start container process: exec: "python3": executable '
            "file not found in $PATH: unknown",
            "python-missing",
        ),
        ("podman", 'Error: no container with name or ID "vllm" found: no such container', "container-missing"),
        (
            "podman",
            "Error: can only create exec sessions on running containers: container state improper",
            "container-not-running",
        ),
        ("podman", "Error: crun: executable file `python3` not found in $PATH: No such file", "python-missing"),
        ("podman", "sh: 1: podman: not found", "podman-missing"),
        ("docker", "env: 'docker': No such file or directory", "docker-missing"),
        (
            "docker",
            'error during connect: Get "http://docker.example.com/v1.50/containers/vllm/json": command [ssh -o '
            "ConnectTimeout=30 -T -- nohost docker system dial-stdio] has exited with exit status 255",
            "runtime-unreachable",
        ),
        (
            "docker",
            "permission denied while trying to connect to the docker API at unix:///var/run/docker.sock",
            "runtime-forbidden",
        ),
        ("docker", "failed to connect to the docker API at unix:///x; check if the path is", "runtime-unreachable"),
        ("podman", "Cannot connect to Podman. Please verify your connection to the Linux", "runtime-unreachable"),
        ("box", "docker: failed to discover GPU vendor from CDI: no known GPU vendor found", "gpu-runtime-missing"),
        ("box", "neither docker nor podman is there", "docker-missing"),
        ("box", "docker: Error response from daemon: No such image: engine:1", "image-missing"),
        ("box", "Unable to find image 'engine:1' locally", "image-missing"),
        ("box", "Error: engine:1: image not known", "image-missing"),
        (
            "box",
            'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].',
            "gpu-runtime-missing",
        ),
        ("box", "Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all", "gpu-runtime-missing"),
        ("box", "srun: error: Unable to create step for job 7: Requested nodes are busy", "slurm-busy"),
        ("docker", "something new", "start-failed"),
        ("k8s", "something new", "start-failed"),
        ("slurm", "", "start-failed"),
    ],
)
def test_what_a_client_says_becomes_an_id_and_a_fix(kind: str, stderr: str, id_: str) -> None:
    error = ended(kind, stderr)
    assert error.id == id_
    assert error.status == ExitStatus.FAILED
    assert error.message.startswith("n: ")
    assert error.fix
    assert "{" not in error.fix.replace("{.spec.containers[*].name}", "")


def test_the_fix_names_what_was_asked_for() -> None:
    assert ended("k8s", 'pods "vllm-0" not found').fix == "see: kubectl get pods -n ml"
    assert "kubectl get pod vllm-0 -n ml -o" in ended("k8s", 'container not found ("main")').fix
    assert "sinfo -N -l -n node01" in ended("slurm", "Invalid node name specified").fix
    assert ended("box", "No such image: engine:1").fix == "on that node: docker pull engine:1"
    assert "there: podman ps" in ended("podman", "no such container").fix


def test_the_line_that_tells_is_quoted_among_others() -> None:
    stderr = "srun: job 7 queued\nsrun: error: Unable to create step: Requested nodes are busy\nsrun: Terminating"
    assert "(srun: error: Unable to create step: Requested nodes are busy)" in ended("slurm", stderr).message


def test_the_last_line_that_tells_is_quoted() -> None:
    stderr = (
        'E1129 21:49:43.881063 1 memcache.go:265] "Unhandled Error" err="couldn\'t get current server API group list: '
        'Get \\"http://localhost:8080/api?timeout=32s\\": dial tcp 127.0.0.1:8080: connect: connection refused"\n'
        "The connection to the server localhost:8080 was refused - did you specify the right host or port?\n"
    )
    assert ended("k8s", stderr).message == (
        "n: kubectl knows no cluster to ask "
        "(The connection to the server localhost:8080 was refused - did you specify the right host or port?)"
    )


def test_a_clients_words_do_not_hide_that_the_probe_ran() -> None:
    assert ended("docker", "No such container", 1, started=True).id == "probe-failed"
    killed = ended("docker", "", 137, started=True)
    assert (killed.id, "memory" in killed.fix) == ("node-lost", True)
    assert ended("slurm", "", 137, started=True).id == "probe-failed"


def test_a_python_too_old_is_told_through_every_client() -> None:
    assert {ended(kind, "python 3.8", 97).id for kind in CLIENTS} == {"python-too-old"}


def test_every_client_has_words_for_its_absence() -> None:
    for client in CLIENTS.values():
        assert missing(client).fix
        assert missing(client).id == f"{client}-missing"


@given(st.sampled_from(sorted(CLIENTS)), st.text(), st.integers(-64, 255), st.booleans())
def test_whatever_a_client_prints_the_message_is_one_bounded_printable_line(
    kind: str, stderr: str, status: int, started: bool
) -> None:
    error = ended(kind, stderr, status, started=started)
    assert error.message.isprintable()
    assert error.fix
    assert len(error.message) < 600


def test_other_ways_have_no_client() -> None:
    assert refusal(NodeSpec("n", "h"), "ssh", "No such container") is None
