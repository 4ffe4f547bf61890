import { Command } from 'commander';
import { serverCommand, type ServerOptions, withExamples, withNode } from '../command.js';
import { facts, print, printJson } from '../output.js';
import { asking } from '../server-calls.js';

interface ResourceOptions extends ServerOptions {
  readonly resource: string;
}

interface ReferenceOptions extends ResourceOptions {
  readonly node: string;
}

export function refsCommand(): Command {
  const examples = [
    'holdfast refs show --resource sha256:4f4e',
    'holdfast refs release --resource sha256:4f4e --node node-1',
  ];
  return withExamples(new Command('refs'), examples)
    .description('Show and change which nodes use a resource')
    .addCommand(showCommand())
    .addCommand(changeCommand('add', 'Count a node that has the resource already'))
    .addCommand(changeCommand('release', 'A node no longer uses the resource'));
}

function showCommand(): Command {
  return serverCommand('show', 'Who uses a resource', ['holdfast refs show --resource sha256:4f4e'])
    .requiredOption('--resource <id>', 'for example a layer digest')
    .action(show);
}

function changeCommand(name: 'add' | 'release', description: string): Command {
  const examples = [`holdfast refs ${name} --resource sha256:4f4e --node node-1`];
  const changes = serverCommand(name, description, examples)
    .requiredOption('--resource <id>', 'for example a layer digest')
    .action((options: ReferenceOptions) => change(name, options));
  return withNode(changes);
}

async function show({ server, json, resource }: ResourceOptions): Promise<void> {
  const answer = await asking(server, (calls) => calls.get('/refcounts', { resource_id: resource }));
  if (json) return printJson(answer);
  const nodes = answer['nodes'] as { node_id: string; since?: string }[];
  print(used(resource, nodes.length));
  if (nodes.length > 0)
    print(facts(nodes.map(({ node_id: node, since }) => [node, since ? `since ${since}` : ''])));
}

async function change(name: 'add' | 'release', options: ReferenceOptions): Promise<void> {
  const { server, json, resource, node } = options;
  const body = { resource_id: resource, node_id: node };
  const answer = await asking(server, (calls) => calls.post(`/refcounts/${name}`, body));
  if (json) printJson(answer);
  else print(used(resource, Number(answer['count'])));
}

function used(resource: string, count: number): string {
  return `${resource} is used by ${count === 1 ? '1 node' : `${count} nodes`}${count > 0 ? '' : ': it may be deleted'}`;
}
