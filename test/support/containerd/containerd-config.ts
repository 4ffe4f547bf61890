export interface ContainerdPlaces {
  readonly root: string;
  readonly state: string;
  readonly socket: string;
  /** Of the content plugin; without it containerd keeps its content itself. */
  readonly pluginSocket?: string;
  /** Serves a kubelet. */
  readonly cri?: boolean;
}

/**
 * All of containerd's places in a directory of its own, no mounts and no control groups. Garbage is collected when somebody asks for it
 * (`--sync`), and not a moment after the start or the last delete: that takes what is ingested by hand, which nothing refers to.
 */
export function containerdConfig({
  root,
  state,
  socket,
  pluginSocket,
  cri = false,
}: ContainerdPlaces): string {
  const disabled = cri ? [] : ['io.containerd.grpc.v1.cri'];
  if (pluginSocket !== undefined) disabled.push('io.containerd.content.v1.content');
  const proxy =
    pluginSocket === undefined
      ? ''
      : `[proxy_plugins.holdfast]\n  type = "content"\n  address = ${JSON.stringify(pluginSocket)}\n`;
  return `version = 2
root = ${JSON.stringify(root)}
state = ${JSON.stringify(state)}
disabled_plugins = ${JSON.stringify(disabled)}
[grpc]
  address = ${JSON.stringify(socket)}
[ttrpc]
  address = ${JSON.stringify(`${socket}.ttrpc`)}
[plugins."io.containerd.internal.v1.opt"]
  path = ${JSON.stringify(`${root}/opt`)}
[plugins."io.containerd.gc.v1.scheduler"]
  startup_delay = "24h"
  mutation_threshold = 0
[plugins."io.containerd.grpc.v1.cri"]
  disable_cgroup = true
  stream_server_port = "0"
[plugins."io.containerd.grpc.v1.cri".cni]
  conf_dir = ${JSON.stringify(`${root}/cni`)}
[plugins."io.containerd.grpc.v1.cri".containerd]
  snapshotter = "native"
${proxy}`;
}
