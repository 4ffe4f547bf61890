import { commitIdOf } from './records/record.js';
import { type Attempt } from './resource-slot.js';

/** Some seconds of commits at full speed. Whoever is further behind with its feed has other troubles than reading its own records. */
const MOST_KEPT = 10_000;

/**
 * Commits of this instance that the store has answered and the feed has not shown yet: of these nobody needs to parse what they wrote.
 * An embedded store shows a commit before it answers, and so leaves nothing here.
 */
export class OwnCommits {
  private readonly unshown = new Map<string, Attempt>();

  /** Its revision is known. What deletes a record writes nothing that could be parsed. */
  landed(attempt: Attempt): void {
    if (attempt.isShown || attempt.head === undefined) return;
    if (this.unshown.size >= MOST_KEPT) this.unshown.clear();
    this.unshown.set(attempt.commitId, attempt);
  }

  /** What wrote this head at this revision, if it was one of them. */
  shown(head: string, revision: number): Attempt | undefined {
    if (this.unshown.size === 0) return undefined;
    const commitId = commitIdOf(head);
    const attempt = this.unshown.get(commitId);
    if (!attempt) return undefined;
    this.unshown.delete(commitId);
    return attempt.revision === revision ? attempt : undefined;
  }
}
