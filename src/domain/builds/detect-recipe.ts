import type { Recipe } from './recipe.ts';

/** The folder that is to be built: its files and links, without what is left out of the build. */
export interface FolderListing {
  /** With `/`, relative to the folder, such as `src/handler.py`. */
  paths: readonly string[];
  /** Returns a file's text. */
  read(path: string): Promise<string>;
}

/** What the user said about the build (`build` in podyard.yaml). What is absent is detected. */
export interface RecipeWishes {
  /** The workers take jobs from a queue, or answer HTTP requests. */
  serves: 'jobs' | 'requests';
  dockerfile?: string;
  target?: string;
  base?: string;
  /** Versions of the languages. */
  python?: string;
  node?: string;
  systemPackages?: readonly string[];
  /** Names of build secrets. */
  secretIds?: readonly string[];
  /** `<file>` or `<file>:<name>` of the function that handles jobs. */
  handler?: string;
  /** The program to start instead. */
  command?: readonly string[];
}

/**
 * Returns how the folder becomes an image. Reads files, and never runs or imports them. Throws `unprocessable` with a sentence that
 * names the file and says what to do where nothing, or more than one thing, could be meant.
 */
export type DetectRecipe = (folder: FolderListing, wishes: RecipeWishes) => Promise<Recipe>;
