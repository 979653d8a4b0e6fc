#!/usr/bin/env bash
# Install the system packages the lab tests use, where they are missing: `make deps`. The second line is the RoCE lab's:
# software emulation of its two virtual machines, and what builds their image.
# Debian and Ubuntu only; as root or with a sudo that asks nothing. Says nothing when nothing is missing.
# The demo and fabricdoc itself need none of them. Installing openssh-server starts its service on most systems.
set -euo pipefail

packages=(
    openssh-client openssh-server
    qemu-system-x86 seabios mmdebstrap squashfs-tools debian-archive-keyring uidmap
)

if ! command -v dpkg >/dev/null; then
    PATH="$PATH:/usr/sbin:/sbin"
    if command -v ssh >/dev/null && command -v sshd >/dev/null; then
        exit 0
    fi
    echo "make deps: no dpkg here; install OpenSSH's client and server in your system's own way" >&2
    echo "(QEMU for x86, mmdebstrap and squashfs-tools too, if you want the RoCE lab)" >&2
    exit 1
fi

missing=()
for package in "${packages[@]}"; do
    status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$status" = installed ] || missing+=("$package")
done
[ "${#missing[@]}" -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null || ! sudo -n true 2>/dev/null; then
        echo "make deps: these packages are missing; as root: apt-get install ${missing[*]}" >&2
        exit 1
    fi
    as_root=(sudo -n)
fi

apt=(env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -qq)
install=(timeout 900 "${apt[@]}" install -y --no-install-recommends "${missing[@]}")
echo "make deps: installing ${missing[*]}" >&2
# The lists are fetched only where they are empty or name a package file that is gone.
if ! "${as_root[@]}" "${install[@]}" >/dev/null 2>&1; then
    "${as_root[@]}" timeout 300 "${apt[@]}" update
    "${as_root[@]}" "${install[@]}" >/dev/null
fi
