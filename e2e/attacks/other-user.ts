import { spawnSync } from 'node:child_process';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../faults/bench.ts';
import { Tab } from '../faults/tab.ts';
import { login } from '../login.ts';
import { stateFolder } from '../../server/state-folder.ts';
import { startForward } from './forward.ts';
import type { Report } from './report.ts';
import type { Target } from './stage.ts';

/** Debian's, and most others', user `nobody`. */
const NOBODY = 65_534;

/** What one of other rights finds out; the names of what it could do are printed. */
const SPY = String.raw`
import { readdirSync, readFileSync, writeFileSync, statSync } from 'node:fs';
process.setgroups([]); process.setgid(${NOBODY}); process.setuid(${NOBODY});
const { files, folders, others, port, pid } = JSON.parse(readFileSync(0, 'utf8'));
const able = (list, what) => list.filter((one) => { try { what(one); return true; } catch { return false; } });
const status = async (path, init) => {
	try { return (await fetch('http://127.0.0.1:' + port + path, init)).status; } catch { return 0; }
};
const origin = 'http://127.0.0.1:' + port;
const post = { method: 'POST', headers: { Origin: origin }, body: '{}' };
const socket = await new Promise((resolve) => {
	const socket = new WebSocket('ws://127.0.0.1:' + port + '/', ['holdfast', 'key.x']);
	socket.onopen = () => resolve('open');
	socket.onerror = () => resolve('refused');
});
console.log(JSON.stringify({
	uid: process.getuid(),
	read: able(files, (one) => readFileSync(one)),
	written: able(files, (one) => writeFileSync(one, 'x', { flag: 'r+' })),
	listed: able(folders, (one) => readdirSync(one)),
	others: able(others, (one) => readFileSync(one)),
	environment: able(['/proc/' + pid + '/environ'], (one) => readFileSync(one)),
	health: await status('/health'),
	login: await status('/api/login', post),
	lock: await status('/api/lock', post),
	socket,
}));
`;

interface Findings {
	uid: number;
	read: string[];
	written: string[];
	listed: string[];
	others: string[];
	environment: string[];
	health: number;
	login: number;
	lock: number;
	socket: string;
}

/** Another user of this machine, who sees into the folders above those that Holdfast makes. */
export async function otherUser(report: Report, target: Target) {
	report.begin('another user of the machine');
	if (process.getuid?.() !== 0) {
		return report.skip('all of it', 'nothing', 'only root can become another user');
	}
	const state = stateFolder(target.holdfast.env);
	await holdConversation(target);
	target.holdfast.address();
	const entries = readdirSync(state, { recursive: true, encoding: 'utf8' });
	const all = entries.map((name) => join(state, name));
	const files = all.filter((path) => statSync(path).isFile());
	const folders = [state, ...all.filter((path) => statSync(path).isDirectory())];
	const control = join(target.home, 'for-all');
	writeFileSync(control, 'x', { mode: 0o644 });

	const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', SPY], {
		encoding: 'utf8',
		input: JSON.stringify({
			...{ files, folders, others: [control] },
			...{ port: target.port, pid: target.holdfast.proxy.pid },
		}),
		cwd: '/',
	});
	if (stdout === '') throw new Error(`The other user could not begin: ${stderr}`);
	const found = JSON.parse(stdout) as Findings;
	const inState = (paths: string[]) => paths.map((path) => path.slice(state.length + 1)).join();
	report.line('a file that all may read', 'read', found.others.length === 1 ? 'read' : 'not read');
	const kinds = ['secret', 'tickets', 'journal', 'demo-sessions', 'owners', 'locks'];
	const missing = kinds.filter((kind) => !entries.some((name) => name.startsWith(kind)));
	report.line(
		`kinds of files looked for`,
		kinds.join(),
		kinds.filter((one) => !missing.includes(one)).join(),
	);
	report.line('files of ours that it can read', 'none', inState(found.read) || 'none');
	report.line('files of ours that it can write', 'none', inState(found.written) || 'none');
	report.line('folders of ours that it can list', 'none', found.listed.join() || 'none');
	report.line(
		'the environment of the proxy',
		'closed',
		found.environment.length > 0 ? 'open' : 'closed',
	);
	report.line('GET /health', '200', String(found.health));
	report.line('POST /api/login {}', '401', String(found.login));
	report.line('POST /api/lock', '401', String(found.lock));
	report.line('upgrade', 'refused', found.socket);
	// Also without the folder above that keeps all of it; the sessions in theirs are Pi's to make.
	const loose = (paths: string[]) => paths.filter((path) => (statSync(path).mode & 0o077) !== 0);
	report.line('folders that say others may enter', 'none', inState(loose(folders)) || 'none');
	const own = files.filter((path) => !path.startsWith(join(state, 'demo-sessions')));
	report.line('files that say others may read', 'none', inState(loose(own)) || 'none');
}

/** In the demo, so that there is one of its sessions. */
async function holdConversation(target: Target) {
	// The proxy prints the address of its reverse proxy; this one leads to its port.
	const relay = await startForward(target.port);
	try {
		const credentials = await login(`${relay.origin}/${new URL(target.holdfast.address()).hash}`);
		const first = new Tab(credentials, 'new', true);
		await first.open();
		await until('a session', () => first.conversation !== undefined);
		const tab = new Tab(credentials, first.conversation!.session!.id, true);
		first.close();
		await tab.open();
		await until('its snapshot', () => tab.conversation !== undefined);
		tab.prompt('Hello.');
		await until('an answer', () =>
			tab.conversation!.messages.some(({ kind }) => kind === 'assistant'),
		);
		await until('its end', () => tab.conversation!.activity.kind === 'idle');
		tab.close();
	} finally {
		await relay.close();
	}
}
