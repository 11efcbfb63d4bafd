# Runs inside the node's new mount namespace; $1 is the cluster's directory. Programs of a node keep state in fixed
# places. Here each of these places is the cluster's own, so the machine's stay untouched and nothing is left in them.
set -eu
mount --make-rshared /
mount -t tmpfs -o mode=755 tmpfs /run
mount -t tmpfs -o mode=755 tmpfs /var/log
mount --bind "$1/var-lib-kubelet" /var/lib/kubelet
mount --bind "$1/var-lib-cni" /var/lib/cni
