/**
 * The programs that the suite's workloads run:
 * - idle: prints `ready`, runs until SIGTERM, then exits with 0
 * - deaf: the same, but ignores SIGTERM
 * - env: prints `GREETING=<value>` and `LEAK=<value or none>` of the variables GREETING and PODYARD_TEST_LEAK, then idles
 * - exit7: prints `going` and exits with 7
 * - crash: prints `going`, then `oops 1` … `oops 30` to stderr, and exits with 1
 * - tick: prints `tick 1`, `tick 2`, … every 20 ms
 * - burst: prints `line 1` … `line 2000`, then `last` without a line end, and exits with 0
 * - serve: serves `hello` over HTTP on all interfaces, on the port in LISTEN; prints `up` once it listens
 * - store: appends WORD to the file `words` in RUNPOD_VOLUME_PATH, prints the file's lines joined by commas, and exits
 * - missing: a command that does not exist
 */
export type Program = 'idle' | 'deaf' | 'env' | 'exit7' | 'crash' | 'tick' | 'burst' | 'serve' | 'store' | 'missing';

/** The programs as `args` for an image with node. */
export const NODE_PROGRAMS: Record<Program, string> = {
  ...Object.fromEntries(
    Object.entries({
      idle: "process.on('SIGTERM', () => process.exit(0)); setInterval(() => {}, 1000); console.log('ready');",
      deaf: "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.log('ready');",
      env: "const { GREETING, PODYARD_TEST_LEAK } = process.env; console.log('GREETING=' + GREETING); console.error('LEAK=' + (PODYARD_TEST_LEAK ?? 'none')); setInterval(() => {}, 1000);",
      exit7: "console.log('going'); process.exitCode = 7;",
      crash: "console.log('going'); for (let n = 1; n <= 30; n++) console.error('oops ' + n); process.exitCode = 1;",
      tick: "let n = 0; setInterval(() => console.log('tick ' + ++n), 20);",
      burst: "for (let n = 1; n <= 2000; n++) console.log('line ' + n); process.stdout.write('last');",
      serve:
        "require('http').createServer((q, a) => a.end('hello')).listen(process.env.LISTEN, '0.0.0.0', () => console.log('up'));",
      store:
        "const file = process.env.RUNPOD_VOLUME_PATH + '/words'; const fs = require('fs'); fs.appendFileSync(file, process.env.WORD + '\\n'); console.log(fs.readFileSync(file, 'utf8').trim().split('\\n').join());",
    }).map(([name, code]) => [name, JSON.stringify({ entrypoint: ['node', '-e', code] })]),
  ),
  missing: JSON.stringify({ entrypoint: ['/no/such/program'] }),
} as Record<Program, string>;
