import { App } from '@domain-steward/slack-workspace/page';
import { render } from 'preact';
import { useDemo } from './use-demo.tsx';

const root = document.getElementById('app');
if (root !== null) render(<App useHost={useDemo} />, root);
