import { type Command } from 'commander';
import { command } from '../command.js';
import { noBoard, textBoard } from '../demo/board.js';
import { demo, type DemoResult } from '../demo/demo.js';
import { size } from '../demo/image.js';
import { painter, print, printJson, table } from '../output.js';

interface DemoOptions {
  readonly fast?: boolean;
  readonly json?: boolean;
}

export function demoCommand(): Command {
  const examples = ['holdfast demo', 'holdfast demo --fast --json'];
  return command('demo', 'Watch eight nodes pull one image; needs no server', examples)
    .option('--fast', 'ten times as fast')
    .action(show);
}

async function show({ fast = false, json }: DemoOptions): Promise<void> {
  const result = await demo(fast, json ? noBoard : textBoard);
  if (json) printJson(documentOf(result));
  else print(summary(result));
}

function documentOf({ nodes, image, ledger, references, seconds }: DemoResult): object {
  return {
    layers: image.length,
    image_bytes: image.reduce((sum, { bytes }) => sum + bytes, 0),
    nodes: nodes.map(({ name, isDead }) => ({
      node_id: name,
      downloaded: ledger.countOf(name, 'downloaded'),
      skipped: ledger.countOf(name, 'skipped'),
      references: references.get(name) ?? 0,
      crashed: isDead,
    })),
    completed_downloads: ledger.completed,
    failed_downloads: ledger.failed,
    interrupted_downloads: ledger.interrupted,
    without: ledger.without,
    with: ledger.with,
    saved: ledger.saved,
    seconds: Number(seconds.toFixed(2)),
  };
}

function summary({ ledger, image, references, seconds, nodes }: DemoResult): string {
  const { with: used, without, saved, interrupted, completed } = ledger;
  const percent = Math.round((100 * saved.bytes) / without.bytes);
  const uses = [...references.values()].reduce((sum, count) => sum + count, 0);
  const dead = nodes.filter(({ isDead }) => isDead).length;
  const rows = [
    ['', 'downloads', 'bytes'],
    ['without Holdfast', String(without.downloads), size(without.bytes)],
    ['with Holdfast', String(used.downloads), size(used.bytes)],
    ['saved', String(saved.downloads), `${size(saved.bytes)} (${percent} %)`],
  ];
  const lines = table(rows).split('\n');
  lines.push(painter(process.stdout)('bold', lines.pop()!));
  return `
${lines.join('\n')}

${dead} of ${nodes.length} nodes crashed, ${interrupted} downloads were cut short, ${completed} completed the ${image.length} layers.
The server counts ${uses} uses of them. ${seconds.toFixed(1)} s, with real locks and simulated bytes.`;
}
