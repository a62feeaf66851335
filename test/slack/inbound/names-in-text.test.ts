import { expect, test } from 'vitest';
import { findNames } from '../../../src/slack/inbound/names-in-text.ts';

test.each([
  ['deli.rest runs out soon, who renews it?', ['deli.rest']],
  ['Renew cafe.rest, CAFE.rest and bar.rest.', ['cafe.rest', 'bar.rest']],
  [
    'see <http://cafe.rest|cafe.rest> or https://www.bistro.example/menu?x=a.b',
    ['cafe.rest', 'bistro.example'],
  ],
  ['mail anna@cafe.rest about bücher.rest', ['cafe.rest', 'xn--bcher-kva.rest']],
  ['report.pdf, v1.2.3, e.g. this. And 10.0.0.1 …', []],
  // File names, sentences without a space between them, and invalid zones.
  ['Hello.World it is done.Thanks, see setup.sh and archive.tar.gz', ['hello.world', 'setup.sh']],
  ['main.py, app.config.json, notes.md5, cafe.co.uk, i.e. node.js', ['main.py', 'cafe.co.uk']],
  ['nothing here', []],
])('finds the names in “%s”', (text, names) => {
  expect(findNames(text)).toEqual(names);
});
