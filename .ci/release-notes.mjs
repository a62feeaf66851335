// Prints the notes of a release from the changelog: node .ci/release-notes.mjs v0.1.0
// They must begin with what an upgrade needs.
import { readFileSync } from 'node:fs';

const tag = process.argv[2] ?? '';
const read = (path) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
const { version } = JSON.parse(read('package.json'));
const [, notes] =
  new RegExp(`^## ${version.replaceAll('.', '\\.')}\\b.*\\n\\n([^]*?)(?=\\n## |$(?![^]))`, 'm').exec(
    read('CHANGELOG.md'),
  ) ?? [];

const problem =
  tag !== `v${version}`
    ? `The tag ${tag} is not that of package.json: v${version}.`
    : notes === undefined
      ? `CHANGELOG.md has no section ${version}.`
      : notes.startsWith('**Upgrading:**')
        ? undefined
        : `The section ${version} of CHANGELOG.md must begin with **Upgrading:** and what an upgrade needs.`;
if (problem === undefined) process.stdout.write(`${notes.trim()}\n`);
else {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 1;
}
