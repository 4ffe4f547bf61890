import { type Command } from 'commander';
import { command } from '../command.js';
import { noBoard, textBoard } from '../demo/board.js';
import { demo, type DemoResult } from '../demo/demo.js';
import { summary } from '../demo/summary.js';
import { print, printJson } from '../output.js';

interface DemoOptions {
  readonly fast?: boolean;
  readonly json?: boolean;
}

export function demoCommand(): Command {
  const examples = ['holdfast demo', 'holdfast demo --fast --json'];
  return command('demo', 'Watch eight nodes pull one image; needs no server', examples)
    .option('--fast', 'a line ten times as fast; the crash takes as long to be noticed')
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
