import type { Readable } from 'node:stream';
import type { BuildLimits, BuildRequest } from '../builder.ts';
import type { BuildSession } from './build-session.ts';
import type { BuildSteps } from './build-steps.ts';
import type { AddedFile } from './context-archive.ts';

/** The request of a build to the engine, whichever program of the engine builds. */
export interface BuildPlan {
  request: BuildRequest;
  limits: BuildLimits;
  /** Its path in the archive. */
  dockerfile: string;
  labels: Readonly<Record<string, string>>;
  /** The build's arguments, with the one that marks its steps. */
  args: Readonly<Record<string, string>>;
  /** Makes the archive, once. */
  archive(added?: readonly AddedFile[]): Readable;
  steps: BuildSteps;
  session: BuildSession;
  signal: AbortSignal;
}

/** A message of the engine about a build, one a line. */
export interface BuildMessage {
  stream?: string;
  id?: string;
  aux?: unknown;
  error?: string;
}

/** The engine said why the build failed; `message` is its own text. */
export class BuildRefusal extends Error {
  override readonly name = 'BuildRefusal';
}
