import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { MEMORY_OPTIONS } from '../src/start.ts';

describe('what keeps memory small', () => {
  test.each(MEMORY_OPTIONS)('%s is an option that this Node knows', (option) => {
    const { status, stderr } = spawnSync(process.execPath, [option, '--eval', ''], { encoding: 'utf8' });

    expect({ status, stderr }, 'set while Node runs, an unknown one changes nothing').toEqual({
      status: 0,
      stderr: '',
    });
  });
});
