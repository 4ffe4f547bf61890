import { readFile } from 'node:fs/promises';

const BUILT_IN = 'io.containerd.content.v1.content';

/**
 * What is wrong with containerd's configuration, in sentences. Looks for the two lines that matter rather than understanding
 * TOML: with the built-in store left on, containerd silently keeps everything in that.
 */
export async function configWarnings(path: string | undefined, address: string): Promise<string[]> {
  if (path === undefined) return [];
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    return [`containerd's configuration could not be read: ${(error as Error).message}`];
  }
  return warningsOf(text.replace(/^\s*#.*$/gm, ''), path, address);
}

function warningsOf(text: string, path: string, address: string): string[] {
  const warnings: string[] = [];
  const disabled = /^\s*disabled_plugins\s*=\s*\[([^\]]*)\]/m.exec(text)?.[1] ?? '';
  if (!disabled.includes(`"${BUILT_IN}"`) && !disabled.includes(`'${BUILT_IN}'`))
    warnings.push(
      `${path} leaves containerd's own content store on, which then gets everything: add "${BUILT_IN}" to disabled_plugins.`,
    );
  const addresses = [...text.matchAll(/^\s*address\s*=\s*["']([^"']*)["']/gm)].map(([, value]) => value);
  if (!/^\s*\[\s*proxy_plugins\b/m.test(text) || !addresses.includes(address))
    warnings.push(`${path} has no [proxy_plugins.…] with type = "content" and address = "${address}".`);
  return warnings;
}
