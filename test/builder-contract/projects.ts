/** The contract suite's input, and the projects that each builder builds for it. */
import type { Builder } from '../../src/builders/builder.ts';
import type { Recipe } from '../../src/domain/builds/recipe.ts';

/** Folders that a builder's own test writes, in the form that it builds. Each has at least one step that is a program. */
export type Project =
  /** Its image has the folder's `note.txt`. A step prints `building`. */
  | 'plain'
  /** A step prints `about to fail` and exits with 3. */
  | 'failing'
  /** A step prints `started` and never ends. It has children, and ignores SIGTERM. */
  | 'endless'
  /** A step prints 64 MiB in lines, and a line of 8 MiB, then ends well. */
  | 'chatty'
  /** Its image has 12 MiB of its own that cannot be compressed. */
  | 'large'
  /** A step prints `<the first four characters of the secret TOKEN>…`. */
  | 'secret';

export interface BuilderUnderTest {
  /** Opens a builder; with the same installation again, as a restarted Podyard does. */
  open(installation: string): Promise<Builder>;
  /** Writes the files of a project into a folder that is empty but for `note.txt`, and returns its recipe. */
  write(project: Project, folder: string): Promise<Recipe>;
  /** Returns the text of a file of an image, by its path in the folder that it was built of. */
  read(image: string, path: string): Promise<string>;
  /** Starts something that uses the image, and returns what ends it. */
  use(image: string): Promise<() => Promise<void>>;
  /** Names what of a build runs or lies about yet, its image and caches apart. */
  leftovers(buildId: string): Promise<string[]>;
  /** Projects that it cannot build, such as one with a secret. */
  cannot?: readonly Project[];
  /** Steps of an unchanged folder are CACHED. */
  caches: boolean;
  /** Opens one whose engine is away. Absent: it has none. */
  openAway?(installation: string): Promise<Builder>;
  close?(): Promise<void>;
}
