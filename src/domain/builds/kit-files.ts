import { OWN_PACKAGE } from '../../core/files/own-package.ts';
import type { Recipe } from './recipe.ts';

/** A file of the worker kits. */
export interface KitFile {
  /** Its path in the folder that is built. */
  path: string;
  /** The file in this package. */
  source: URL;
}

const WORKERS = new URL('workers/', OWN_PACKAGE);

/** The kits as their users import them, and the runners, which are beside them. */
const FILES = {
  python: {
    '.podyard/python/podyard_worker.py': 'python/podyard_worker.py',
    '.podyard/python/run_handler.py': 'python/run_handler.py',
  },
  javascript: {
    '.podyard/node_modules/podyard/package.json': 'javascript/kit-package.json',
    '.podyard/node_modules/podyard/podyard-worker.js': 'javascript/podyard-worker.js',
    '.podyard/node_modules/podyard/podyard-worker.d.ts': 'javascript/podyard-worker.d.ts',
    '.podyard/node_modules/podyard/run-handler.js': 'javascript/run-handler.js',
  },
} as const;

/**
 * Returns the files that a recipe's image needs beside the folder's own: they are added when a folder is materialized, readable by all. A
 * folder with its own Dockerfile gets none.
 */
export function kitFiles({ language }: Pick<Recipe, 'language'>): KitFile[] {
  if (language === 'dockerfile') return [];
  return Object.entries(FILES[language]).map(([path, source]) => ({ path, source: new URL(source, WORKERS) }));
}
