import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { ReportProgress } from '../../../src/names/ports.ts';
import { runWithImportProgress } from '../../../src/slack/names/names-import.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

test.each(['Compared', 'Changed'] as const)(
  '%s: the importer of many names sees the progress, at most three times, and nothing after the end',
  async (activity) => {
    const told: string[] = [];
    let reach: ReportProgress = () => undefined;
    let end = () => {};
    const outcome = runWithImportProgress(
      async (message) => void told.push(typeof message === 'string' ? message : message.text),
      activity,
      (progress) =>
        new Promise<string>((resolve) => {
          reach = progress;
          end = () => resolve('the plan');
        }),
    );
    await vi.advanceTimersByTimeAsync(1_999);
    expect(told).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    reach(500, 20_000);
    await vi.advanceTimersByTimeAsync(18_000);
    reach(19_500, 20_000);
    expect(told).toEqual(['Reading the file.', `${activity} 500 of 20,000 names so far.`]);
    end();
    expect(await outcome).toBe('the plan');
    await vi.advanceTimersByTimeAsync(600_000);
    expect(told).toHaveLength(2);
  },
);
