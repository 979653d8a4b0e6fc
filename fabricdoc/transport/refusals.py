"""What srun, mpirun, kubectl, docker and podman say when nothing of ours started: from their words to an id and a fix.

Pure text work, like `failures`, which asks here first. The ids: slurm-unreachable, slurm-job, slurm-node, slurm-busy,
slurm-refused, mpirun-unreachable, mpirun-node, mpirun-root, mpirun-refused, pod-missing, pod-not-running, k8s-context,
k8s-unreachable, k8s-forbidden, container-missing, container-not-running, runtime-unreachable, runtime-forbidden,
image-missing, gpu-runtime-missing, python-missing, and CLIENT-missing. None of the clients is translated. Where each
wording was seen stands beside it; "said" means by the client itself, run with nothing to reach (kubectl 1.32.4, docker
28.2.2, the four mpirun).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from fabricdoc.transport.nodes import DEFAULT_PYTHON, NodeSpec


class Refusal(NamedTuple):
    """A pattern of a client's stderr and what it means; `fix` takes the words of `_words`."""

    pattern: str
    id: str
    message: str
    fix: str


_NO_PYTHON = Refusal(
    r"executable file .* ?not found|execve\(\): .*No such file|exec: .*(no such file|permission denied)",
    "python-missing",
    "{python} can't be run there",
    "it needs a python3 (3.10 or later) inside; another one: python = '/path/to/python3' in fabric.toml",
)
# src/common/slurm_errno.c, src/srun/allocate.c, src/srun/create_job_step, src/interfaces: Slurm 21.08, 24.11, 26.05;
# src/slurmd/slurmstepd/task.c for execve()
_SLURM = (
    _NO_PYTHON,
    Refusal(
        r"Task launch for .* failed on node|Node failure on",
        "slurm-node",
        "its Slurm daemon does not start a step",
        "see: scontrol show node {host}; on it: systemctl status slurmd",
    ),
    Refusal(
        r"Unable to contact slurm controller|Connection (refused|timed out)|Communication connection failure",
        "slurm-unreachable",
        "Slurm's controller does not answer",
        "check: scontrol ping",
    ),
    Refusal(
        r"Invalid job id|Job/step already complet|[Jj]ob has expired|Job \d+ (is )?expired|Expired or invalid job",
        "slurm-job",
        "the Slurm job is over",
        "see: squeue --me; then a new one: salloc -N2",
    ),
    Refusal(
        r"nodes are busy|can not start immediately|Memory required by task|step.*temporarily"
        r"|Immediate execution impossible|[Rr]esources.* unavailable",
        "slurm-busy",
        "Slurm has no room for one more step there",
        "see: squeue --me --steps; the job's own step may hold the node: start it with srun --overlap",
    ),
    Refusal(
        r"Invalid node name|[Nn]ode.* not (available|in|part)|node configuration is not available|node.*down|DOWN",
        "slurm-node",
        "Slurm does not place a step on it",
        "see: sinfo -N -l -n {host}",
    ),
    Refusal(
        r"srun: (fatal|error): (Unable to|Task launch|Invalid|Job|unrecognized|.*[Dd]enied)|srun: unrecognized",
        "slurm-refused",
        "srun refused the step",
        "try: srun --overlap -N1 -n1 --nodelist={host} true",
    ),
)
# Open MPI's help texts (4.1.4: orterun; 5.0.11: prterun) and Hydra's lines (MPICH 4.0.2 and 5.0.2, Intel MPI 2021.19),
# each recorded from the real one; what their ssh says is told by `ssh_words` first
_MPI = (
    Refusal(
        r"(?m:^\s*Executable: )|execvp error on file .*\(No such file|execvp error on file .*\(Permission",
        "python-missing",
        "{python} can't be run there",
        "it needs a python3 (3.10 or later) there; another one: python = '/path/to/python3' in fabric.toml",
    ),
    Refusal(
        r"detected an attempt to run as root",
        "mpirun-root",
        "mpirun does not start anything for root",
        "be another user; in a container set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
    ),
    Refusal(
        r"no allocated resources|not part of the allocation|not enough slots available|not included in .*allocat",
        "mpirun-node",
        "mpirun may not place a process on it",
        "inside an allocation name its nodes as it does; see that this runs: mpirun -n 1 --host {host} hostname",
    ),
    Refusal(
        r"daemon failed to report back|unable to reliably start one or more daemons|Launch proxy failed"
        r"|Unable to run bstrap_proxy|lost contact|lost communication",
        "mpirun-unreachable",
        "mpirun's launcher does not reach it",
        "this must print its name, and nothing must ask: mpirun -n 1 --host {host} hostname",
    ),
    Refusal(
        r"reading stdin too slowly|unrecognized (argument|option)|invalid option|unknown option",
        "mpirun-refused",
        "this mpirun does not take what it was told",
        "Open MPI from 4.1 or a Hydra (MPICH, Intel MPI) must be the first mpirun on PATH: mpirun --version",
    ),
)
# kubectl's pkg/cmd/exec and pkg/cmd/util/helpers.go, client-go's tools/clientcmd, kubelet's exec: 1.20 to 1.36; said:
# localhost:8080, context was not found, stat FILE, refused, Please enter Username (it would read it from our stdin)
_KUBERNETES = (
    Refusal(
        r"getting credentials: |Please enter (Username|Password)",
        "k8s-forbidden",
        "kubectl has no credentials for the cluster",
        "log in to the cluster as its provider says, until this works: kubectl auth whoami",
    ),
    _NO_PYTHON,
    Refusal(
        r"current-context|no configuration has been provided|context .* does not exist|localhost:8080"
        r"|error loading config|context was not found|error: stat .*: no such file|no server found for cluster",
        "k8s-context",
        "kubectl knows no cluster to ask",
        "see: kubectl config get-contexts; choose one: kubectl config use-context NAME, or set KUBECONFIG",
    ),
    Refusal(
        r'pods? "?[^ ]*"? not found|namespaces? "?[^ ]*"? not found|pod does not exist',
        "pod-missing",
        "there is no such pod",
        "see: kubectl get pods{namespace}",
    ),
    Refusal(
        r"container .*(is not valid|not found)",
        "container-missing",
        "the pod has no such running container",
        "see: kubectl get pod {pod}{namespace} -o jsonpath={{.spec.containers[*].name}}",
    ),
    Refusal(
        r"completed pod|does not have a host|timed out waiting|not running|is not assigned|pod.*(Pending|Failed)",
        "pod-not-running",
        "the pod does not run",
        "see: kubectl describe pod {pod}{namespace}",
    ),
    Refusal(  # the API server's proxy, and k3s' tunnel, to the kubelet
        r"error dialing backend|while dialing|:10250\b",
        "k8s-unreachable",
        "the kubelet of the pod's machine does not answer",
        "see: kubectl get pod {pod}{namespace} -o wide; kubectl get nodes",
    ),
    Refusal(
        r"[Ff]orbidden|Unauthorized|must be logged in|x509|certificate",
        "k8s-forbidden",
        "the cluster does not let this user in",
        "check: kubectl auth can-i create pods/exec{namespace}",
    ),
    Refusal(
        r"Unable to connect to the server|dial tcp|connection refused|i/o timeout|TLS handshake"
        r"|no such host|context deadline exceeded|server .* was refused",
        "k8s-unreachable",
        "the cluster does not answer",
        "check: kubectl get nodes",
    ),
)
# moby daemon/ and client/ (20.10 to 29), docker/cli run; podman's libpod and pkg (4.3, 5.x); runc and crun for python3;
# said: docker's daemon that is not there, here and over DOCKER_HOST=ssh
_CONTAINERS = (
    Refusal(
        r"[Nn]o such container|no container with name or ID",
        "container-missing",
        "there is no such container",
        "see which run there: {runtime} ps (podman shows each user's own: sudo podman ps)",
    ),
    Refusal(
        r"is not running|is paused|is restarting|container state improper|only .*on running containers",
        "container-not-running",
        "the container does not run",
        "see: {runtime} ps -a; then start it",
    ),
    Refusal(
        r"[Nn]o such image|Unable to find image|image not known|manifest unknown",
        "image-missing",
        "the image is not there, and none is pulled",
        "on that node: {runtime} pull {image}",
    ),
    Refusal(
        r"could not select device driver|unresolvable CDI devices|nvidia-container-cli|known GPU vendor",
        "gpu-runtime-missing",
        "its container runtime gives no GPU",
        "install nvidia-container-toolkit on it and configure it: nvidia-ctk runtime configure",
    ),
    Refusal(
        r"permission denied while trying to connect|[Gg]ot permission denied|dial unix .*permission denied",
        "runtime-forbidden",
        "this user may not use its container runtime",
        "on that node: sudo usermod -aG docker USER, then log in anew",
    ),
    Refusal(
        r"Cannot connect to the Docker daemon|[Ff]ailed to connect to the docker API|nable to connect to Podman"
        r"|Cannot connect to Podman|Is the docker daemon running|error during connect",
        "runtime-unreachable",
        "its container runtime does not answer",
        "on that node: systemctl status docker",
    ),
    _NO_PYTHON,
)
_BOX = Refusal(
    r"neither docker nor podman is there",
    "docker-missing",
    "there is neither docker nor podman",
    "install the runtime that serves there, or leave image and container out and name a python that has torch",
)
_BY_KIND = {
    "box": (_BOX, *_CONTAINERS, *_SLURM, *_MPI),
    "slurm": _SLURM,
    "mpirun": _MPI,
    "k8s": _KUBERNETES,
    "docker": _CONTAINERS,
    "podman": _CONTAINERS,
}
CLIENTS = {
    "box": "docker",
    "slurm": "srun",
    "mpirun": "mpirun",
    "k8s": "kubectl",
    "docker": "docker",
    "podman": "podman",
}
_INSTALL = {
    "srun": "install Slurm's client commands, or reach the nodes by ssh: --nodes a,b",
    "mpirun": "load the module that brings mpirun, or reach the nodes by ssh: --nodes a,b",
    "kubectl": "install kubectl, or reach the pod's node by ssh",
    "docker": "install docker there, or name the runtime that holds it: podman:",
    "podman": "install podman there, or name the runtime that holds it: docker:",
}


def refusal(node: NodeSpec, kind: str, stderr: str) -> tuple[Refusal, str] | None:
    """What a client's stderr means, with its words filled in, and the last line that told it; None for other words."""
    client = CLIENTS.get(kind, "")
    rows = (*((missing(client),) if client else ()), *_BY_KIND.get(kind, ()))
    for row in rows:
        if re.search(row.pattern, stderr):
            line = next((line for line in reversed(stderr.splitlines()) if re.search(row.pattern, line)), stderr)
            words = _words(node, client)
            return row._replace(message=row.message.format(**words), fix=row.fix.format(**words)), line
    return None


def missing(client: str) -> Refusal:
    """The refusal of a machine that has no such client program."""
    pattern = rf"\b{client}: ([Cc]ommand )?not found|\b{client}\W{{1,3}} ?No such file|Unknown command: {client}\b"
    return Refusal(pattern, f"{client}-missing", f"there is no {client}", _INSTALL[client])


def _words(node: NodeSpec, client: str) -> dict[str, str]:
    where = node.where
    return {
        "python": DEFAULT_PYTHON if node.container or node.image else node.python,
        "host": where.host,
        "pod": where.pod,
        "namespace": f" -n {where.namespace}" if where.namespace else "",
        "runtime": client,
        "image": node.image,
    }
