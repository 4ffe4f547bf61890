import { type ChildProcess, spawn } from 'node:child_process';

/** Reads until this process is gone, however that came about; then stops the group. */
const SCRIPT = 'read _; kill -s TERM -- "-$1"; sleep "$2"; kill -s KILL -- "-$1"';

/**
 * Stops a process group when this process dies, SIGKILL included: a command without its holder would go on while the
 * session runs out and the lock passes to somebody else. It needs no longer than `killAfterMs`, as when a hold is lost, and begins together
 * with this process where that stops the group first.
 *
 * It does not notice that this process was only stopped (SIGSTOP); then the command is stopped when it wakes.
 */
export class Guardian {
  private readonly shell: ChildProcess;

  constructor(group: number, killAfterMs: number) {
    const args = ['-c', SCRIPT, 'holdfast-guardian', String(group), String(killAfterMs / 1000)];
    this.shell = spawn('/bin/sh', args, { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
    this.shell.on('error', () => undefined);
    this.shell.stdin!.on('error', () => undefined);
    this.shell.unref();
  }

  /** As if this process had died: it may, before it has stopped the group itself. */
  begin(): void {
    this.shell.stdin!.write('\n');
  }

  dismiss(): void {
    this.shell.kill('SIGKILL');
  }
}
