import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { ReportProgress } from '../../../src/names/ports.ts';
import { runWithImportProgress } from '../../../src/slack/names/names-import.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

test.each(['Compared', 'Changed'] as const)(
  '%s: a long import reports its progress at most three times, and not after its end',
  async (activity) => {
    const messages: string[] = [];
    let report: ReportProgress = () => undefined;
    let finish = () => {};
    const outcome = runWithImportProgress(
      async (message) => void messages.push(typeof message === 'string' ? message : message.text),
      activity,
      (progress) =>
        new Promise<string>((resolve) => {
          report = progress;
          finish = () => resolve('the plan');
        }),
    );
    await vi.advanceTimersByTimeAsync(1_999);
    expect(messages).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    report(500, 20_000);
    await vi.advanceTimersByTimeAsync(18_000);
    report(19_500, 20_000);
    expect(messages).toEqual(['Reading the file.', `${activity} 500 of 20,000 names so far.`]);
    finish();
    expect(await outcome).toBe('the plan');
    await vi.advanceTimersByTimeAsync(600_000);
    expect(messages).toHaveLength(2);
  },
);
