import { type Command, Option } from 'commander';
import { DEFAULT_SERVER, serverCommand, type ServerOptions, withNode } from '../command.js';
import { note, print, printJson } from '../output.js';

interface PluginCommandOptions extends ServerOptions {
  readonly address: string;
  readonly root: string;
  readonly node: string;
  readonly whenUnreachable: 'proceed' | 'fail';
  readonly containerdConfig?: string;
}

/** systemd and people wait no longer. */
const STOP_WITHIN_MS = 4500;

export function containerdPluginCommand(): Command {
  const examples = [
    'holdfast containerd-plugin --address /run/holdfast/content.sock --root /mnt/shared',
    `holdfast containerd-plugin --address /run/holdfast/content.sock --root /mnt/shared --node node-1 --server ${DEFAULT_SERVER}`,
  ];
  const description = 'Serve containerd a content store that many nodes share (docs/containerd.md)';
  return withNode(serverCommand('containerd-plugin', description, examples))
    .requiredOption('--address <path>', 'the unix socket to serve containerd on')
    .requiredOption('--root <directory>', 'the shared directory, the same on all nodes')
    .addOption(
      new Option(
        '--when-unreachable <what>',
        'a pull while no server answers: download all the same, or fail',
      )
        .choices(['proceed', 'fail'])
        .default('proceed'),
    )
    .option('--containerd-config <path>', "containerd's config.toml: warns if it would not use this plugin")
    .action(containerdPlugin);
}

async function containerdPlugin(options: PluginCommandOptions): Promise<void> {
  const { address, root, node, server, whenUnreachable, containerdConfig, json } = options;
  const { ContainerdPlugin, configWarnings } = await import('../../containerd/index.js');
  for (const warning of await configWarnings(containerdConfig, address)) note(`Warning: ${warning}`);
  const plugin = await ContainerdPlugin.start({
    address,
    root,
    nodeId: node,
    serverUrls: server,
    whenUnreachable,
    log: note,
  });
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void stop(plugin));
  if (json) printJson({ address, root, node, server });
  else
    print(
      `Holdfast serves containerd on ${address}\n  store   ${root}\n  node    ${node}\n  server  ${server.join(', ')}`,
    );
  const failure = await plugin.ended;
  if (failure) throw failure;
}

/** Connections that were cut linger, and would keep the process. */
async function stop(plugin: { stop(): Promise<void> }): Promise<void> {
  setTimeout(() => process.exit(1), STOP_WITHIN_MS).unref();
  await plugin.stop();
  process.exit(0);
}
