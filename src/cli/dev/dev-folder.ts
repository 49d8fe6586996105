import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { parseEnv } from 'node:util';
import { detectRecipe } from '../../domain/builds/detect-recipe.ts';
import { nodeFlags } from '../../domain/builds/dockerfile-of.ts';
import type { Recipe } from '../../domain/builds/recipe.ts';

/** A folder as `podyard dev` serves it. */
export interface DevFolder {
  path: string;
  name: string;
  type: 'QUEUE' | 'LOAD_BALANCING';
  ports: string[];
  env: Record<string, string>;
  /** Values that `{{ RUNPOD_SECRET_name }}` in `env` stands for. */
  secrets: Record<string, string>;
  /** Starts the handler, in the folder. */
  command: string[];
}
