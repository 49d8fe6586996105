/** The command line or a setting is wrong. The exit status is 2, as for what the parser refuses. */
export class UsageError extends Error {}
