export interface DevOptions {
  port: number;
  /** Variables and secrets, as `NAME=value` lines. */
  envFile?: string;
  /** Which endpoint of podyard.yaml. */
  name?: string;
  /** By a worker of a server, instead of one on this machine. */
  remote?: boolean;
  /** With `remote`: the name of the endpoint. */
  endpoint?: string;
  /** With `remote`: GPU pools instead of what podyard.yaml says. */
  pool?: string[];
  /** With `remote`: the server. */
  context?: string;
}
