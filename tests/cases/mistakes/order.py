# %%
#| flowc: ingest
rows = [3, 1, 2]

# %%
#| flowc: transform
scaled = [row / largest for row in rows]

# %%
#| flowc: evaluate
largest = max(rows)
print(scaled, largest)
