import { UsageError } from '../core/usage-error.ts';
import { parseInteger } from './parse-setting.ts';

/** Settings that the server passes to the container that copies a worker's models to its node. */
export interface NodeSettings {
  /** A secret. */
  url: string;
  /** The disk space for models; null: half of the sum of what they use and what is free. */
  budgetBytes: number | null;
}

/** Throws an error that names the variable. */
export function readNodeSettings({ MODELS_URL: url, PODYARD_MODELS_GB: gb }: NodeJS.ProcessEnv): NodeSettings {
  if (!url) throw new UsageError('MODELS_URL is not set: a server sets it where it starts this command');
  const budget = gb ? parseInteger('PODYARD_MODELS_GB', gb, { min: 1, max: 1_000_000, fallback: 0 }) : null;
  return { url, budgetBytes: budget === null ? null : budget * 1e9 };
}

/** Settings of the program that serves the files of a network volume. */
export interface FileServerSettings {
  /** A secret. */
  token: string;
  idleMs: number;
}

/** Throws an error that names the variable. */
export function readFileServerSettings({
  FILES_TOKEN: token,
  FILES_IDLE_SECONDS: idle,
}: NodeJS.ProcessEnv): FileServerSettings {
  if (!token) throw new UsageError('FILES_TOKEN is not set: a server sets it where it starts this command');
  return { token, idleMs: parseInteger('FILES_IDLE_SECONDS', idle, { min: 1, max: 86_400, fallback: 600 }) * 1_000 };
}
