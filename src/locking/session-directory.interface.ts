/** What the locks must know of sessions. */
export interface SessionDirectory {
  /** Whether this session is open and belongs to this node. */
  isOpen(sessionId: string, nodeId: string): boolean | Promise<boolean>;
}

export const SESSION_DIRECTORY = Symbol('SESSION_DIRECTORY');
