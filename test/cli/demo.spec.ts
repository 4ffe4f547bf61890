import { describe, expect, it } from 'vitest';
import { holdfast, json, NOWHERE } from './setup.js';

describe('holdfast demo', () => {
  interface Figures {
    nodes: { downloaded: number; skipped: number; references: number; crashed: boolean }[];
    layers: number;
    image_bytes: number;
    failed_downloads: number;
    completed_downloads: number;
    interrupted_downloads: number;
    without: { downloads: number; bytes: number };
    with: { downloads: number; bytes: number };
    saved: { downloads: number; bytes: number };
  }

  it('ends with figures that add up', async () => {
    const demo = await holdfast(NOWHERE, 'demo', '--fast', '--json');
    expect(demo).toMatchObject({ code: 0, stderr: '' });
    const { nodes, layers, ...figures } = json(demo) as unknown as Figures;
    const alive = nodes.filter(({ crashed }) => !crashed);
    expect([nodes.length, alive.length, layers, figures.failed_downloads]).toEqual([8, 7, 40, 1]);
    for (const { downloaded, skipped, references } of alive)
      expect([downloaded + skipped, references]).toEqual([40, 40]);
    const total = nodes.reduce((sum, { downloaded, skipped }) => sum + downloaded + skipped, 0);
    expect(figures.without.downloads).toBe(total);
    expect(figures.completed_downloads).toBe(layers);
    expect(figures.with.downloads).toBe(figures.completed_downloads + figures.interrupted_downloads);
    expect(figures.interrupted_downloads).toBeGreaterThanOrEqual(2);
    expect(figures.with.bytes).toBeGreaterThan(figures.image_bytes);
    for (const unit of ['downloads', 'bytes'] as const)
      expect(figures.saved[unit]).toBe(figures.without[unit] - figures.with[unit]);
  });

  it('tells it in words where there is no terminal', async () => {
    const { stdout } = await holdfast(NOWHERE, 'demo', '--fast');
    expect(stdout).toContain('crashed in layer 5');
    expect(stdout).toMatch(/^saved +\d+ +\d/m);
    expect(stdout).not.toContain('\u001B');
    const without = Number(/^without Holdfast +(\d+)/m.exec(stdout)![1]);
    const [, counted, unheard = 0] = /counts (\d+) uses of them(?:, (\d+) more)?/.exec(stdout)!;
    expect(Number(counted) - Number(unheard)).toBe(without);
  });
});
