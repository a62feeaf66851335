import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { referencePage } from '../scripts/reference/page.ts';
import { SETTINGS } from '../scripts/reference/settings.ts';
import { readConfig } from '../src/config/environment.ts';

test('docs/reference.md is up to date with npm run reference', () => {
  expect(readFileSync('docs/reference.md', 'utf8')).toBe(referencePage());
});

test('defaults in the reference match the code', () => {
  const required = {
    SLACK_BOT_TOKEN: 'xoxb-token',
    SLACK_SIGNING_SECRET: 'signing-secret',
    SERVICE_JSON_URL: 'https://service.example/v1',
    APPROVERS: 'U0BOB',
  };
  const defaults = Object.values(SETTINGS).flatMap((settings) =>
    Object.entries(settings).flatMap(([name, { ifUnset }]) => {
      const [, value] = /^`([^`]+)`$/.exec(ifUnset) ?? [];
      // Skip values that refer to other variables.
      return value === undefined || /[A-Z]{4}/.test(value) ? [] : [[name, value] as const];
    }),
  );
  expect(defaults.length).toBeGreaterThan(15);
  expect(readConfig({ ...required, ...Object.fromEntries(defaults) })).toEqual(readConfig(required));
});
