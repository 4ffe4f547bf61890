import { painter, table } from '../output.js';
import { type DemoResult } from './demo.js';
import { size } from './image.js';

export function summary(result: DemoResult): string {
  const { ledger, image, seconds, nodes } = result;
  const { with: used, without, saved, interrupted, completed } = ledger;
  const percent = Math.round((100 * saved.bytes) / without.bytes);
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
${uses(result)} ${seconds.toFixed(1)} s, with real locks and simulated bytes.`;
}

/**
 * The server counts a waiting node in the step that sends it away; one that is dead by then never hears of it, and has
 * nothing of it in the ledger.
 */
function uses({ nodes, references, ledger }: DemoResult): string {
  const counted = [...references.values()].reduce((sum, count) => sum + count, 0);
  const unheard = nodes.flatMap(({ name }) => {
    const known = ledger.countOf(name, 'downloaded') + ledger.countOf(name, 'skipped');
    const more = (references.get(name) ?? 0) - known;
    return more > 0 ? [`${more} more than the nodes know of: ${name} crashed before it was told`] : [];
  });
  return [`The server counts ${counted} uses of them`, ...unheard].join(', ') + '.';
}
