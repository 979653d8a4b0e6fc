"""What an API server asks of the fields that the LeaderWorkerSet example uses: kinds, needed keys, words, no others.

Facts read from the CRD of kubernetes-sigs/lws v0.9.0 (config/crd/bases/leaderworkerset.x-k8s.io_leaderworkersets.yaml,
version v1, which holds core/v1's PodTemplateSpec as controller-gen 0.17.2 wrote it). The example was held against that
whole schema too, with every unknown key refused, when these facts were read. A field that the example does not use yet
is not here: look it up there first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer", "minimum": -(1 << 31), "maximum": (1 << 31) - 1}  # format int32
YES_NO: Schema = {"type": "boolean"}
LABELS: Schema = {"type": "object", "additionalProperties": TEXT}
# resource.Quantity: a number, or text with a suffix
QUANTITY: Schema = {
    "anyOf": [
        {"type": "integer"},
        {"type": "string", "pattern": r"^[+-]?(\d+\.?\d*|\.\d+)([KMGTPE]i?|[numk]|[eE][+-]?\d+)?$"},
    ]
}


def record(needed: Sequence[str] = (), **fields: Schema) -> Schema:
    """An object of these fields and no others."""
    return {"type": "object", "properties": fields, "required": list(needed), "additionalProperties": False}


def each(items: Schema) -> Schema:
    """A list."""
    return {"type": "array", "items": items}


CONTAINER = record(
    ["name"],
    name=TEXT,
    image=TEXT,
    command=each(TEXT),
    args=each(TEXT),
    env=each(
        record(
            ["name"], name=TEXT, value=TEXT, valueFrom=record(fieldRef=record(["fieldPath"], fieldPath=TEXT))
        )
    ),
    envFrom=each(record(configMapRef=record(name=TEXT))),
    ports=each(record(["containerPort"], containerPort=WHOLE, name=TEXT)),
    readinessProbe=record(
        httpGet=record(["port"], path=TEXT, port={"anyOf": [{"type": "integer"}, TEXT]}),
        periodSeconds=WHOLE,
        failureThreshold=WHOLE,
    ),
    resources=record(limits={"type": "object", "additionalProperties": QUANTITY}),
    securityContext=record(capabilities=record(add=each(TEXT))),
    volumeMounts=each(record(["mountPath", "name"], mountPath=TEXT, name=TEXT, readOnly=YES_NO)),
)  # fmt: skip
POD = record(
    ["containers"],
    containers=each(CONTAINER),
    initContainers=each(CONTAINER),
    hostNetwork=YES_NO,
    dnsPolicy=TEXT,
    volumes=each(
        record(["name"], name=TEXT, configMap=record(name=TEXT), emptyDir=record(medium=TEXT, sizeLimit=QUANTITY))
    ),
)
POD_TEMPLATE = record(metadata=record(labels=LABELS), spec=POD)
RESTARTS = ["Default", "RecreateGroupOnPodRestart", "RecreateGroupAfterStart", "None"]
LEADER_WORKER_SET = record(
    apiVersion={"const": "leaderworkerset.x-k8s.io/v1"},
    kind={"const": "LeaderWorkerSet"},
    metadata=record(["name"], name=TEXT),
    spec=record(
        ["leaderWorkerTemplate"],
        replicas=WHOLE,
        leaderWorkerTemplate=record(
            ["workerTemplate"],
            size=WHOLE,
            restartPolicy={"enum": RESTARTS},
            leaderTemplate=POD_TEMPLATE,
            workerTemplate=POD_TEMPLATE,
        ),
    ),
)
# lists that the API server keeps by these keys: it refuses two of the same (x-kubernetes-list-map-keys)
KEYS = {
    "containers": "name",
    "initContainers": "name",
    "env": "name",
    "ports": "containerPort",
    "volumeMounts": "mountPath",
    "volumes": "name",
}
# what its webhook gives every container of the set, initContainers too (pkg/utils/pod/pod_utils.go, AddLWSVariables)
VARIABLES = {"LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE", "LWS_WORKER_INDEX"}
