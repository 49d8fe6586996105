/** How a folder becomes an image. Found by detectRecipe (detect-recipe.ts), stored with a build, read by builders. */
export interface Recipe {
  /** `dockerfile`: the folder has its own, and the other members but `target` say nothing. */
  language: 'dockerfile' | 'python' | 'javascript';
  /** The path of the Dockerfile in the folder. Null: it is generated. */
  dockerfile: string | null;
  /** The stage of the Dockerfile. Null: the last. */
  target: string | null;
  /** The image to begin with. Null: a slim one of the language. */
  base: string | null;
  /** Version of Python or Node.js, such as `3.12` or `24`. Null: the builder's default. */
  version: string | null;
  /** The program that installs the dependencies. Null: there are none. */
  installer: 'pip' | 'uv' | 'npm' | 'pnpm' | 'yarn' | null;
  /** The files that alone decide what is installed, by their paths in the folder. The first is the lock file, if there is one. */
  lockFiles: string[];
  /** Packages of the system's distribution. */
  systemPackages: string[];
  /** Build secrets that the installation of dependencies finds as variables of these names. */
  secretIds: string[];
  /** Runs once the code is in place, such as `npm run build`. Null: nothing does. */
  buildCommand: string[] | null;
  /** A function that the kit's runner serves, or a program that does everything itself. */
  entry: { kind: 'handler'; file: string; name: string } | { kind: 'program'; command: string[] } | null;
}
