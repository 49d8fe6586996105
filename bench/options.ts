import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';

/** The options of a benchmark, to be printed: asked for with `--help`, or after a mistake, which `message` begins with. */
export class Usage extends Error {
  /** False after a mistake. */
  readonly isAnswer: boolean;

  constructor(message: string, isAnswer: boolean) {
    super(message);
    this.isAnswer = isAnswer;
  }
}

type Value<Option> = Option extends { type: 'boolean' }
  ? boolean
  : Option extends { multiple: true }
    ? string[]
    : string;
type Values<Options> = {
  [Name in keyof Options]: Options[Name] extends { default: unknown }
    ? Value<Options[Name]>
    : Value<Options[Name]> | undefined;
};

/** Reads the arguments of a benchmark. Throws `Usage` for `--help`, and for what is no option of it. */
export function readOptions<const Options extends ParseArgsOptionsConfig>(
  args: string[],
  options: Options,
): Values<Options> {
  const usage = `options: ${Object.entries(options).map(describe).join(' ')}`;
  if (args.includes('--help') || args.includes('-h')) throw new Usage(usage, true);
  try {
    return parseArgs({ args, options }).values as unknown as Values<Options>;
  } catch (error) {
    throw new Usage(`${(error as Error).message}\n${usage}`, false);
  }
}

function describe([name, option]: [string, ParseArgsOptionsConfig[string]]): string {
  if (option.type === 'boolean') return `[--${name}]`;
  const value = typeof option.default === 'string' ? option.default : name.toUpperCase();
  return `[--${name} ${value}]${option.multiple ? '…' : ''}`;
}
