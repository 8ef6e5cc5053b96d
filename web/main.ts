import { mount } from 'svelte';
import './app.css';
import App from './App.svelte';
import { load } from './components/Markdown.svelte';
import { App as AppState } from './state/app.svelte.ts';

const app = new AppState(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/`);
app.start();
mount(App, { target: document.getElementById('app')!, props: { app } });

// Before the first answer, and not before the page can be used.
(window.requestIdleCallback ?? setTimeout)(() => void load());
