/**
 * The interface to what makes images out of folders: a container engine, or the process runtime's own images. A builder knows
 * builds, not endpoints or users. Every builder passes the suite in test/builder-contract/contract.ts.
 */
import type { Recipe } from '../domain/builds/recipe.ts';

export interface BuildRequest {
  /** The build's id. What is made for it is labeled with it, so that another process can find and remove it. */
  id: string;
  /** The name that the image gets. */
  image: string;
  /** An absolute path: the context, complete and without what is to be ignored, with no link that leads out of it. The builder may not change it. */
  folder: string;
  recipe: Recipe;
  /** Values of the Dockerfile's ARGs. */
  args: Readonly<Record<string, string>>;
  /** Values by id. Each is mounted for the steps that ask for it, and is in no layer, log or cache. */
  secrets: Readonly<Record<string, string>>;
  /** Credentials for base images, by registry host. */
  registries: Readonly<Record<string, { username: string; password: string }>>;
  /**
   * Rejects, with a sentence, unless the owner of the build may use an image. Called for each image that the folder names, before the
   * engine could use a copy that another user's build or worker has pulled or built.
   */
  admitBase(image: string): Promise<void>;
  /**
   * Makes an image present where it is built, as for a workload of the owner; rejects with a sentence otherwise. `onProgress` receives lines
   * about a pull.
   */
  prepareBase(image: string, onProgress: (line: string) => void): Promise<void>;
  /** False: every step runs again. */
  usesCache: boolean;
  /** Builds of different scopes, as of two users, share no result of a step. Letters and digits. */
  cacheScope: string;
}

export interface BuildLimits {
  cpus: number;
  memoryBytes: number;
  /** Limit of the whole build. */
  timeoutMs: number;
  /** Limit of the image's size. */
  maxImageBytes: number;
}

/** Events of a build, in order. `step` is unique in the build. */
export type BuildEvent =
  /** The image is made, and is sent to where it will be pulled from. */
  | { kind: 'pushing' }
  | { kind: 'step'; step: string; name: string; state: 'RUNNING' | 'COMPLETED' | 'CACHED' | 'FAILED'; at: Date }
  | { kind: 'line'; step: string | null; stream: 'stdout' | 'stderr' | 'system'; text: string; at: Date };

export interface BuildOptions {
  limits: BuildLimits;
  onEvent(event: BuildEvent): void;
  /** Cancels the build, which then rejects soon and leaves nothing behind. */
  signal: AbortSignal;
}

export interface BuiltImage {
  image: string;
  /** Names the content: `sha256:` and 64 hexadecimal digits. */
  digest: string;
  sizeBytes: number;
}

/** An image that a builder made, and that is still there. */
export interface StoredImage {
  /** The build that made it. */
  buildId: string;
  image: string;
  sizeBytes: number;
}

export interface Builder {
  readonly name: 'engine' | 'pushed' | 'processes';
  /**
   * Builds the image. Rejects with a sentence fit for users: `unprocessable` where the folder or its recipe is at fault,
   * `unavailable` where the builder is. Leaves nothing behind then but a cache.
   */
  build(request: BuildRequest, options: BuildOptions): Promise<BuiltImage>;
  /** The images that builds made, by this installation. */
  list(): Promise<StoredImage[]>;
  /** Removes the image of a build. Idempotent. Rejects with `conflict` while a workload uses it. */
  remove(buildId: string): Promise<void>;
  /**
   * Removes what was not used for longest of what is kept of steps, until it has `maxBytes`; nothing that a running build uses.
   * Resolves with the bytes that it has freed.
   */
  trimCache(maxBytes: number): Promise<number>;
  /** Ends and removes what builds of killed processes have left, all but the images of finished ones. */
  tidy(): Promise<void>;
  /** Returns why it cannot build here, one sentence; null when it can. */
  hindrance(): Promise<string | null>;
}
