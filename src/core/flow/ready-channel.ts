/** The diagnostics channel on which a server says once that it answers requests. */
export const READY = 'podyard.ready';
