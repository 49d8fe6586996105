export interface DevOptions {
  port: number;
  /** Variables and secrets, as `NAME=value` lines. */
  envFile?: string;
  /** Which endpoint of podyard.yaml. */
  name?: string;
}
