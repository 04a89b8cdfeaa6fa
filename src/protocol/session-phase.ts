/** Where a session stands. */
export type SessionPhaseName = 'setup' | 'preparing' | 'training' | 'paused' | 'stopping' | 'finished' | 'failed'
