import { bash, error, expect, firstTurn, test } from './holdfast.ts';

test('nothing jumps while an answer streams, a command runs and a retry comes and goes', async ({
	page,
	start,
	ui,
}) => {
	const answer = Array.from({ length: 60 }, (_, i) => `Sentence ${i} of the answer.`).join(' ');
	const { url } = await start(
		(request) =>
			firstTurn(request)
				? request.attempt === 1
					? error(429)
					: [
							{ text: answer, pace: 5 },
							bash('for i in 1 2 3 4 5; do echo line $i; sleep 0.1; done'),
						]
				: [{ text: '| a | b |\n| - | - |\n| 1 | 2 |\n\n```js\nlet x = 1;\n```\n\nDone.', pace: 5 }],
		{ settings: { retry: { baseDelayMs: 2_000 } } },
	);
	await page.goto(url);
	await ui.send('Work, please.');
	await expect(ui.progress).toBeVisible();
	await page.evaluate(() => {
		const shifts: number[] = [];
		Object.assign(window, { shifts });
		new PerformanceObserver((list) => {
			for (const entry of list.getEntries())
				shifts.push((entry as unknown as { value: number }).value);
		}).observe({ type: 'layout-shift', buffered: false });
	});

	await expect(ui.answers.last()).toContainText('Done.');
	await ui.rested();
	const shifts = await page.evaluate(() => (window as unknown as { shifts: number[] }).shifts);
	expect(shifts.reduce((sum, shift) => sum + shift, 0)).toBeLessThan(0.05);
});

test('the coming of a retry does not move what one is reading', async ({ page, start, ui }) => {
	const { url } = await start(
		({ messages }) =>
			messages.length === 1
				? [{ text: Array.from({ length: 80 }, (_, i) => `Line ${i}.`).join('\n\n'), pace: 0 }]
				: error(429),
		{ settings: { retry: { baseDelayMs: 20_000 } } },
	);
	await page.goto(url);
	await ui.send('Much, please.');
	await expect(ui.answers).toContainText('Line 79.');
	await ui.rested();
	await ui.send('More.');
	await expect(ui.progress).toBeVisible();
	// The last thing said stands above the strip, not behind it.
	const failed = page.getByText('broke off: too many requests');
	await expect(failed).toBeInViewport();

	const line = page.getByText('Line 40.');
	await line.scrollIntoViewIfNeeded();
	const before = await line.boundingBox();
	await ui.button('Cancel retry').click();
	await expect(page.getByText('Retry cancelled', { exact: true })).toBeVisible();
	expect(await line.boundingBox()).toEqual(before);
	await page.getByRole('button', { name: 'To the end' }).click();
	await expect(page.getByText('retry cancelled after: too many requests')).toBeInViewport();
});

test('with reduced motion the bar moves in steps, and says the same', async ({
	page,
	start,
	ui,
}) => {
	await page.emulateMedia({ reducedMotion: 'reduce' });
	const { url } = await start(() => error(429), { settings: { retry: { baseDelayMs: 20_000 } } });
	await page.goto(url);
	await ui.send('Work, please.');
	await expect(ui.progress).toBeVisible();
	const bar = ui.progress.locator('i');
	expect(await bar.evaluate((element) => element.getAnimations().length)).toBe(0);
	const share = () =>
		bar.evaluate((element) => new DOMMatrix(getComputedStyle(element).transform).a);
	const first = await share();
	await expect.poll(share).toBeGreaterThan(first);
	const value = Number(await ui.progress.getAttribute('aria-valuenow'));
	expect(await share()).toBeCloseTo(value / 20, 1);
});

test('everything can be done with the keyboard', async ({ page, start, ui }) => {
	const { url } = await start(({ attempt }) =>
		attempt === 1 ? error(401) : [{ text: 'Let in.' }],
	);
	await page.goto(url);
	await expect(ui.message).toBeFocused();
	await page.keyboard.type('Work, please.');
	await page.keyboard.press('Enter');
	await expect(ui.button('Try again')).toBeVisible();

	for (let presses = 0; presses < 12; presses++) {
		if (await ui.button('Try again').evaluate((button) => button === document.activeElement)) break;
		await page.keyboard.press('Shift+Tab');
	}
	await page.keyboard.press('Enter');
	await expect(ui.answers).toHaveText(['Let in.']);

	await ui.autoRetry.focus();
	await page.keyboard.press('Space');
	await expect(ui.autoRetry).not.toBeChecked();
});

test('changes of state are spoken, and a countdown is not spoken each second', async ({
	page,
	start,
	ui,
}) => {
	const { url } = await start(({ attempt }) => (attempt === 1 ? error(429) : [{ text: 'Done.' }]));
	await page.goto(url);
	const status = page.getByRole('status').first();
	await expect(status).toHaveText('Pi is ready.');
	await page.evaluate(() => {
		const spoken: string[] = [];
		Object.assign(window, { spoken });
		const status = document.querySelector('[role=status]')!;
		new MutationObserver(() => spoken.push(status.textContent!)).observe(status, {
			characterData: true,
			childList: true,
			subtree: true,
		});
	});
	await ui.send('Work, please.');
	await expect(ui.answers).toHaveText(['Done.']);
	await ui.rested();
	const spoken = await page.evaluate(() => (window as unknown as { spoken: string[] }).spoken);
	expect(spoken.filter((text, index) => text !== spoken[index - 1])).toEqual([
		'Pi is working.',
		'Rate limited: retry 1 of 3 in 2 s.',
		'Retry 1 of 3 is under way.',
		'Pi is working.',
		'Pi is ready.',
	]);
});

test('on a phone the list is a drawer, and the buttons of the strip share its width', async ({
	page,
	start,
	ui,
}) => {
	await page.setViewportSize({ width: 360, height: 740 });
	const { url } = await start(() => error(429), { settings: { retry: { baseDelayMs: 20_000 } } });
	await page.goto(url);
	await ui.send('Work, please.');
	const boxes = await Promise.all(
		['Retry now', 'Cancel retry'].map((name) => ui.button(name).boundingBox()),
	);
	expect(boxes.every((box) => box!.height >= 44 && box!.width > 120)).toBe(true);
	expect(boxes[0]!.y).toBe(boxes[1]!.y);

	await expect(ui.button('New conversation')).toBeHidden();
	await ui.button('Conversations').click();
	await expect(ui.button('New conversation')).toBeVisible();
	await page.keyboard.press('Escape');
	await expect(ui.button('New conversation')).toBeHidden();
	await expect(ui.progress).toBeVisible();
});

test('an answer can be read when the script that reads Markdown does not come', async ({
	page,
	start,
	ui,
}) => {
	const { url } = await start(() => [{ text: 'Some **bold** words.' }]);
	await page.route(/markdown-view/, (route) => route.abort());
	await page.goto(url);
	await ui.send('Hello');
	await expect(ui.answers).toHaveText('Some **bold** words.');

	await page.unrouteAll();
	await page.reload();
	await expect(ui.answers).toHaveText('Some bold words.');
});
