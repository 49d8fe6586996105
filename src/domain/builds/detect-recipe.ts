import { Failure } from '../../core/errors.ts';
import { detectJavaScript } from './detect-javascript.ts';
import { detectPython } from './detect-python.ts';
import type { FolderListing, RecipeWishes } from './folder-listing.ts';
import type { Recipe } from './recipe.ts';

/**
 * Returns how the folder becomes an image. Reads files, and never runs or imports them. Throws `unprocessable` with a sentence that
 * names the file and says what to do where nothing, or more than one thing, could be meant.
 */
export async function detectRecipe(given: FolderListing, wishes: RecipeWishes): Promise<Recipe> {
  const folder = { ...given, read: async (path: string) => withoutMark(await given.read(path)) };
  if (folder.paths.length === 0) throw refuse('The folder is empty: `podyard init` writes one that works');
  const dockerfile = findDockerfile(folder, wishes);
  if (dockerfile !== undefined) return fromDockerfile(folder, dockerfile, wishes);
  const found = [await detectPython(folder, wishes), await detectJavaScript(folder, wishes)].filter(
    (one) => one !== null,
  );
  const [recipe, other] = found;
  if (recipe === undefined) throw nothingFound(folder, wishes);
  if (other === undefined) return recipe;
  throw refuse(
    `Both ${entryText(recipe)} and ${entryText(other)} could be served: say which with build.handler or build.command in podyard.yaml`,
  );
}

/** Some editors begin a file with a byte order mark, which interpreters and engines pass over. */
function withoutMark(text: string): string {
  return text.replace(/^\uFEFF/, '');
}

function findDockerfile({ paths }: FolderListing, { dockerfile }: RecipeWishes): string | undefined {
  if (dockerfile === undefined) return ['Dockerfile', 'Containerfile'].find((name) => paths.includes(name));
  if (paths.includes(dockerfile)) return dockerfile;
  throw refuse(`build.dockerfile is '${dockerfile}', but the folder has no such file`);
}

/** Fields without effect beside a Dockerfile. They are refused there, rather than ignored. */
const GENERATED = ['handler', 'command', 'base', 'python', 'node', 'systemPackages'] as const;

async function fromDockerfile(folder: FolderListing, dockerfile: string, wishes: RecipeWishes): Promise<Recipe> {
  const idle = GENERATED.find((name) => wishes[name] !== undefined);
  if (idle !== undefined) {
    throw refuse(`${dockerfile} says how the image is made, so build.${idle} says nothing: remove one of the two`);
  }
  const text = await folder.read(dockerfile);
  if (!/^[ \t]*FROM[ \t]/im.test(text)) throw refuse(`${dockerfile} has no FROM, with which an image begins`);
  return {
    language: 'dockerfile',
    dockerfile,
    target: wishes.target ?? null,
    base: null,
    version: null,
    installer: null,
    lockFiles: [],
    systemPackages: [],
    secretIds: [],
    buildCommand: null,
    entry: null,
  };
}

function nothingFound({ paths }: FolderListing, { serves, handler }: RecipeWishes): Failure {
  if (handler !== undefined) {
    const file = handler.split(':', 1)[0]!;
    if (!paths.includes(file)) return refuse(`build.handler is '${handler}', but the folder has no file ${file}`);
    return refuse(`build.handler is '${handler}', but ${file} is neither Python (.py) nor JavaScript or TypeScript`);
  }
  if (serves === 'requests') {
    return refuse(
      'No HTTP server was found: a Dockerfile, a FastAPI, Flask or Starlette `app` in a Python file, or `start` in package.json. Name it with build.command in podyard.yaml',
    );
  }
  return refuse(
    'No handler was found: a Dockerfile, handler.py with `def handler(job):`, or handler.js with `export default async (job) => …`. Name yours with build.handler in podyard.yaml; an HTTP server needs `type: LOAD_BALANCING` there',
  );
}

function entryText({ entry }: Recipe): string {
  if (entry?.kind === 'handler') return `${entry.name} in ${entry.file}`;
  return `\`${entry?.command.join(' ')}\``;
}

function refuse(sentence: string): Failure {
  return new Failure('unprocessable', sentence);
}
