import { Command } from 'commander';
import { readCount, readReferences } from '../../client/answers.js';
import { type Json } from '../../client/reply.js';
import { serverCommand, type ServerOptions, withExamples, withNode } from '../command.js';
import { facts, legible, print, printJson } from '../output.js';
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
  const query = { resource_id: resource };
  const answer = await asking(server, (calls) => calls.get('/refcounts', query, readReferences));
  if (json) return printJson(answer);
  const nodes = usersIn(answer);
  print(legible(users(resource, nodes.length)));
  if (nodes.length > 0)
    print(facts(nodes.map(({ node_id: node, since }) => [node, since ? `since ${since}` : ''])));
}

/** The server counts a node once and releases what is not counted without a word: looking first shows a slip. */
async function change(name: 'add' | 'release', options: ReferenceOptions): Promise<void> {
  const { server, json, resource, node } = options;
  const body = { resource_id: resource, node_id: node };
  await asking(server, async (calls) => {
    const before = usersIn(await calls.get('/refcounts', { resource_id: resource }, readReferences));
    const wasCounted = before.some(({ node_id: user }) => user === node);
    const answer = await calls.post(`/refcounts/${name}`, body, readCount);
    if (json) printJson({ ...answer, was_counted: wasCounted });
    else
      for (const line of [`${node} ${became(name, wasCounted)}`, users(resource, Number(answer['count']))])
        print(legible(line));
  });
}

function became(name: 'add' | 'release', wasCounted: boolean): string {
  if (name === 'add') return wasCounted ? 'was counted already' : 'is counted';
  return wasCounted ? 'is no longer counted' : 'was not counted: nothing was released';
}

function usersIn({ nodes }: Json): readonly { node_id: string; since?: string }[] {
  return nodes as { node_id: string; since?: string }[];
}

/** Only what is counted: a resource without users may be unknown, or about to have one. */
function users(resource: string, count: number): string {
  if (count === 0) return `Nobody is counted as a user of ${resource}`;
  return `${resource} is used by ${count === 1 ? '1 node' : `${count} nodes`}`;
}
