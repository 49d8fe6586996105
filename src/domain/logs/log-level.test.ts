import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LOG_LEVELS, type LogLevel, levelNumber, levelOfNumber, recognizeLevel } from './log-level.ts';

test.each<[string, LogLevel | null]>([
  // JSON
  ['{"requestId": "a", "message": "done", "level": "INFO"}', 'INFO'],
  ['{"severity":"ERROR","message":"x"}', 'ERROR'],
  ['{"ts":1.2,"level":"warn","msg":"slow"}', 'WARN'],
  ['{"level":30,"time":1,"msg":"up"}', 'INFO'],
  ['{"level":20,"msg":"x"}', 'DEBUG'],
  ['{"level":60,"msg":"x"}', 'ERROR'],
  ['{"level":3,"msg":"syslog"}', null],
  ['{"levelname": "CRITICAL", "message": "x"}', 'ERROR'],
  ['{"log.level":"error","message":"x"}', 'ERROR'],
  ['{"@l":"Warning","@m":"x"}', 'WARN'],
  ['{"message":"ERROR in the text alone"}', null],
  ['{"message":"{\\"level\\":\\"error\\"}"}', null],
  // logfmt
  ['time=2026-11-20T10:02:11Z level=error msg="no model"', 'ERROR'],
  ['ts=1 lvl="warn" msg=x', 'WARN'],
  // glog, klog
  ['E1120 10:02:11.482913       1 main.go:57] no model', 'ERROR'],
  ['I1120 10:02:11.482913       1 main.go:57] up', 'INFO'],
  // a name near the start
  ['ERROR:root:no model', 'ERROR'],
  ['INFO:     Uvicorn running on http://0.0.0.0:8000', 'INFO'],
  ['2026-11-20 10:02:11,482 - app.loader - WARNING - slow disk', 'WARN'],
  ['[2026-11-20 10:02:11 +0000] [7] [INFO] Booting worker', 'INFO'],
  ['2026/11/20 10:02:11 [error] 7#7: upstream timed out', 'ERROR'],
  ['DEBUG 2026-11-20 x', 'DEBUG'],
  ['\u001b[31mERROR\u001b[0m no model', 'ERROR'],
  ['error: no such file', 'ERROR'],
  ['npm ERR! code 1', 'ERROR'],
  ['fatal: not a git repository', 'ERROR'],
  ['panic: runtime error: index out of range', 'ERROR'],
  // exceptions
  ['Traceback (most recent call last):', 'ERROR'],
  ['ValueError: no model', 'ERROR'],
  ['torch.OutOfMemoryError: CUDA out of memory.', 'ERROR'],
  ['Uncaught TypeError: x is not a function', 'ERROR'],
  ['app.py:3: DeprecationWarning: use y', 'WARN'],
  // none
  ['', null],
  ['model loaded', null],
  ['the error rate is low', null],
  ['INFORMATION_SCHEMA is read', null],
  [`${'x'.repeat(90)} ERROR`, null],
  ['Loading: 100%|##########| 3/3', null],
])('%s', (line, level) => {
  expect(recognizeLevel(line, null)).toBe(level);
});

test('the lines of a traceback have its level, and the next message has its own', () => {
  const lines = [
    'Traceback (most recent call last):',
    '  File "app.py", line 1, in <module>',
    '    INFO = load()',
    'ValueError: no model',
    'ready',
  ];
  let before: LogLevel | null = null;
  const levels = lines.map((line) => {
    before = recognizeLevel(line, before);
    return before;
  });
  expect(levels).toEqual(['ERROR', 'ERROR', 'ERROR', 'ERROR', null]);
});

test('a level survives being stored', () => {
  for (const level of LOG_LEVELS) expect(levelOfNumber(levelNumber(level))).toBe(level);
  expect(levelOfNumber(null)).toBeNull();
});

test('any line of 16 KiB is judged within milliseconds', () => {
  fc.assert(
    fc.property(fc.constantFrom(' ', '{', '"', 'a.', 'A', '[', '\u001b[', 'level'), (part) => {
      const startedAt = performance.now();
      recognizeLevel(part.repeat(Math.floor(16_384 / part.length)), null);
      expect(performance.now() - startedAt).toBeLessThan(1_000);
    }),
  );
});
